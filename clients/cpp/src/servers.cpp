#include "servers.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "engram/v1/names.pb.h"
#include "local.hpp"
#include "messages.hpp"

namespace engram {

namespace {

constexpr auto fresh_for = std::chrono::seconds(2);

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// Where a server of this user listens, and a client looks, by default.
std::vector<std::string> default_addresses() {
  auto runtime = variable("XDG_RUNTIME_DIR");
  auto temporary = variable("TMPDIR");
  auto folder = runtime.starts_with('/') ? runtime : (temporary.empty() ? "/tmp" : temporary) + "/engram-" + std::to_string(getuid());
  return {"unix:" + folder + "/engram.sock", "http://127.0.0.1:7411"};
}

std::string path_of(const std::string& address) {
  auto path = address.substr(address.find(':') + 1);
  return path.starts_with("//") ? path.substr(2) : path;
}

std::string without(std::string text, std::string_view end) { return text.ends_with(end) ? text.substr(0, text.size() - end.size()) : text; }

/// The path of gRPC's socket beside a local one; empty if there is none.
std::string beside_local(const std::string& address) {
  auto path = without(path_of(address), ".local");
  for (const auto& p : {path + ".sock", path}) {
    if (std::filesystem::exists(p)) return p;
  }
  return "";
}

/// The memory that a pattern names; empty if it may match several.
std::string memory_of(std::string_view pattern) {
  auto parts = ID(pattern).parts();
  if (parts.empty() || parts[0].empty() || parts[0][0] == '*' || parts[0][0] == '~') return "";
  return parts[0].starts_with("\\") ? parts[0].substr(1) : parts[0];
}

}  // namespace

std::shared_ptr<Servers> Servers::connect(const ConnectOptions& options) {
  auto made = std::make_shared<Servers>();
  made->options_ = options;
  if (made->options_.credentials.empty()) made->options_.credentials = variable("ENGRAM_CREDENTIALS");
  auto address = options.address.empty() ? variable("ENGRAM_ADDRESS") : options.address;
  auto addresses = address.empty() ? default_addresses() : std::vector{address};
  std::optional<Error> first;
  for (const auto& a : addresses) {
    try {
      made->home_ = made->reach({a});
      made->home_address_ = a;
      break;
    } catch (const Error& e) {
      if (e.code != Code::unavailable) throw;
      if (!first) first = e;
    }
  }
  if (!made->home_ && address.empty()) {
    throw Error(Code::unavailable, "", "no memory server answers at " + addresses[0] + " or " + addresses[1] + "; start one with 'engram serve', or say where it is with ENGRAM_ADDRESS: " + first->what());
  }
  if (!made->home_) throw Error(Code::unavailable, first->thing, first->message + "; start a server there with 'engram serve --listen " + address + "'");
  auto info = call_with<api::InfoResponse>([&](const std::string& r) { return made->home_->call("Info", r); }, api::InfoRequest());
  made->robot_ = info.robot();
  made->hosted_.assign(info.memories().begin(), info.memories().end());
  made->types->fetch_by([weak = made->weak_from_this()](const std::string& name) {
    auto servers = weak.lock();
    if (!servers) throw Error(Code::unavailable, name, "the type is not known here, and the client was closed");
    return servers->fetch_type(name);
  });
  return made;
}

std::shared_ptr<Transport> Servers::reach(const std::vector<std::string>& addresses) {
  std::vector<Error> failed;
  for (const auto& address : addresses) {
    {
      std::lock_guard lock(mutex_);
      if (auto known = transports_.find(address); known != transports_.end()) return known->second;
    }
    try {
      auto made = dial(address);
      std::lock_guard lock(mutex_);
      return transports_.try_emplace(address, std::move(made)).first->second;
    } catch (const Error& e) {
      if (e.code != Code::unavailable && e.code != Code::unsupported) throw;
      failed.push_back(e);
    }
  }
  if (failed.size() == 1) throw failed[0];
  std::string all, why;
  for (const auto& address : addresses) all += (all.empty() ? "" : ", ") + address;
  for (const auto& e : failed) why += (why.empty() ? "" : "; ") + std::string(e.what());
  throw Error(Code::unavailable, all, why.empty() ? "the server has no address that can be reached from here" : why);
}

std::shared_ptr<Transport> Servers::dial(const std::string& address) {
  if (address.starts_with("local:")) return std::make_shared<local::Local>(address, types, options_.timeout);
  if (address.starts_with("unix:")) {
    auto beside = without(path_of(address), ".sock") + ".local";
    if (std::filesystem::exists(beside)) {
      try {
        return std::make_shared<local::Local>("local:" + beside, types, options_.timeout);
      } catch (const Error& e) {
        if (e.code != Code::unavailable) throw;
      }
    }
  }
  auto made = dial_rpc(address);
  try {
    made->unary("MemoryService/Info", "", options_.timeout);
  } catch (const Error& e) {
    if (e.code == Code::canceled) throw Error(Code::unavailable, address, "the memory server does not answer in time");
    throw;
  }
  return made;
}

std::shared_ptr<Rpc> Servers::dial_rpc(const std::string& address) {
  std::lock_guard lock(mutex_);
  auto& known = rpcs_[address];
  if (!known) known = std::make_shared<Rpc>(address, types, options_.credentials);
  return known;
}

std::shared_ptr<Rpc> Servers::rpc(const std::string& memory) {
  auto transport = memory.empty() ? home_ : of(memory);
  const auto& address = transport->address;
  if (!address.starts_with("local:")) return dial_rpc(address);
  auto path = beside_local(address);
  if (path.empty()) {
    throw Error(Code::unavailable, address, "the server has no Unix socket for gRPC beside its local one; give its address, such as unix:/path/engram.sock");
  }
  return dial_rpc("unix:" + path);
}

Servers::Names Servers::names(bool fresh) {
  {
    std::lock_guard lock(mutex_);
    if (!fresh && Clock::now() - asked_ < fresh_for) return names_;
  }
  api::ListNamesResponse answer;
  try {
    answer = retried([&] {
      return call_with<api::ListNamesResponse>([&](const std::string& r) { return rpc()->unary("NameService/ListNames", r, options_.timeout); }, api::ListNamesRequest());
    });
  } catch (const Error& e) {
    bool alone = e.code == Code::unavailable && home_->address.starts_with("local:") && beside_local(home_->address).empty();
    if (e.code != Code::unsupported && e.code != Code::forbidden && !alone) throw;  // else it has no name system, or none for who asks
  }
  Names found;
  for (const auto& memory : hosted_) found[memory] = {home_address_};
  for (const auto& entry : answer.entries()) {
    if (found.contains(entry.memory())) continue;
    // Another robot's memory has another name there; at who holds a copy it has this one.
    bool foreign = !entry.robot().empty() && entry.memory().starts_with(entry.robot() + ":");
    std::vector<std::string> addresses;
    if (!foreign) addresses.assign(entry.addresses().begin(), entry.addresses().end());
    for (const auto& copy : entry.copies()) {
      if (copy.memory() == entry.memory()) addresses.insert(addresses.end(), copy.addresses().begin(), copy.addresses().end());
    }
    if (!addresses.empty()) found[entry.memory()] = std::move(addresses);
  }
  std::lock_guard lock(mutex_);
  names_ = found;
  asked_ = Clock::now();
  return found;
}

std::shared_ptr<Transport> Servers::of(const std::string& memory) {
  if (std::find(hosted_.begin(), hosted_.end(), memory) != hosted_.end()) return home_;
  auto known = names();
  if (!known.contains(memory)) known = names(true);
  if (auto found = known.find(memory); found != known.end()) return reach(found->second);
  std::string all;
  for (const auto& [name, addresses] : known) all += (all.empty() ? "" : ", ") + name;
  throw Error(Code::not_found, memory, "no server has a memory of this name; there are " + all);
}

std::vector<std::shared_ptr<Transport>> Servers::all() {
  std::vector found{home_};
  for (const auto& [memory, addresses] : names()) {
    if (std::find(hosted_.begin(), hosted_.end(), memory) != hosted_.end()) continue;
    try {
      auto t = reach(addresses);
      if (std::find(found.begin(), found.end(), t) == found.end()) found.push_back(t);
    } catch (const Error&) {  // of another robot, or away
    }
  }
  return found;
}

std::vector<std::shared_ptr<Transport>> Servers::matching(std::string_view pattern) {
  auto memory = memory_of(pattern);
  if (memory.empty()) return all();
  return {of(memory)};
}

std::vector<std::string> Servers::memories() {
  std::vector<std::string> all;
  for (const auto& [name, addresses] : names(true)) all.push_back(name);
  return all;
}

std::string Servers::fetch_type(const std::string& name) {
  api::GetTypeRequest request;
  request.set_name(name);
  std::optional<Error> failed;
  auto ask = [&](Transport& t) -> std::optional<std::string> {
    try {
      auto answer = retried([&] { return call_with<api::GetTypeResponse>([&](const std::string& r) { return t.call("GetType", r); }, request); });
      return answer.type().descriptors();
    } catch (const Error& e) {
      if (e.code != Code::not_found) throw;
      if (!failed) failed = e;
      return {};
    }
  };
  if (auto found = ask(*home_)) return *found;
  for (const auto& t : all()) {
    if (t == home_) continue;
    if (auto found = ask(*t)) return *found;
  }
  throw *failed;
}

}  // namespace engram
