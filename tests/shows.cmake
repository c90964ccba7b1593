# A page shows files word for word: cmake -DPAGE=page.md -DFILES=a;b -P shows.cmake
file(READ ${PAGE} page)
foreach(file IN LISTS FILES)
    file(READ ${file} text)
    string(FIND "${page}" "${text}" place)
    if(place EQUAL -1)
        message(SEND_ERROR "${PAGE} does not show ${file} word for word")
    endif()
endforeach()
