// CHALKGRAD_EACH(MACRO, a, b, …): MACRO(a) MACRO(b) …, for one to six arguments.
#pragma once

#define CHALKGRAD_EACH(M, a, ...) M(a) __VA_OPT__(CHALKGRAD_EACH_2(M, __VA_ARGS__))
#define CHALKGRAD_EACH_2(M, a, ...) M(a) __VA_OPT__(CHALKGRAD_EACH_3(M, __VA_ARGS__))
#define CHALKGRAD_EACH_3(M, a, ...) M(a) __VA_OPT__(CHALKGRAD_EACH_4(M, __VA_ARGS__))
#define CHALKGRAD_EACH_4(M, a, ...) M(a) __VA_OPT__(CHALKGRAD_EACH_5(M, __VA_ARGS__))
#define CHALKGRAD_EACH_5(M, a, ...) M(a) __VA_OPT__(M(__VA_ARGS__))
