// Engram, the memory of a robot: the client for C++. docs/cpp.md has a page on everything.
#pragma once

#include "engram/hosting.hpp"
#include "engram/memory.hpp"
#include "engram/poses.hpp"
#include "engram/skills.hpp"
