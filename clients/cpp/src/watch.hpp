#pragma once

#include "messages.hpp"
#include "servers.hpp"

namespace engram {

/// Begins a watch of several servers, each with a request of its own.
Watch watch_servers(std::shared_ptr<Servers> servers, const std::vector<std::pair<std::shared_ptr<Transport>, api::SubscribeRequest>>& of, std::optional<Duration> give_up);

}  // namespace engram
