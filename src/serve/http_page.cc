#include "serve/http_page.h"

#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include <httplib.h>

namespace headrace::serve {
namespace {

// A thread waits on its reader, for a second at most: so many slow ones have the others wait that long.
constexpr int kThreads = 8;
constexpr int kLongestWaitSeconds = 1;

class ListeningPage final : public HttpPage {
 public:
  ~ListeningPage() override {
    server_.stop();
    if (listening_.joinable()) listening_.join();
  }

  Status Listen(const std::string& address, int port, const std::string& path,
                const std::string& content_type) {
    server_.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    server_.set_keep_alive_timeout(kLongestWaitSeconds);  // for the first thing that is asked, too
    server_.set_read_timeout(kLongestWaitSeconds);
    server_.set_write_timeout(kLongestWaitSeconds);
    // A reader that has its page would hold a thread while it has nothing to ask.
    server_.set_keep_alive_max_count(1);
    server_.Get(path, [this, content_type](const httplib::Request&, httplib::Response& response) {
      const std::lock_guard lock(mutex_);
      response.set_content(text_, content_type.c_str());
    });
    // The library would share a port with whoever has it.
    server_.set_socket_options([](socket_t socket) {
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    });
    port_ = port == 0 ? server_.bind_to_any_port(address.c_str()) : port;
    const bool bound = port == 0 ? port_ > 0 : server_.bind_to_port(address.c_str(), port);
    if (!bound)
      return IoError("listening on ", address, ":", port,
                     ": the address cannot be used; another program may have it");
    listening_ = std::thread([this] { server_.listen_after_bind(); });
    // Before it runs it could not be stopped.
    while (!server_.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return Status::OK();
  }

  void Put(std::string text) override {
    const std::lock_guard lock(mutex_);
    text_ = std::move(text);
  }
  int port() const override { return port_; }

 private:
  httplib::Server server_;
  std::mutex mutex_;
  std::string text_;
  std::thread listening_;
  int port_ = 0;
};

}  // namespace

Result<std::unique_ptr<HttpPage>> HttpPage::Open(const std::string& address, int port,
                                                 const std::string& path, const std::string& content_type) {
  auto page = std::make_unique<ListeningPage>();
  HEADRACE_RETURN_NOT_OK(page->Listen(address, port, path, content_type));
  return page;
}

}  // namespace headrace::serve
