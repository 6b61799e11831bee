"""An HTTP server with a thread for each connection. Each answer takes 50 ms. Its text has the
request's path and the number of Python's threads."""

import http.server
import sys
import threading
import time


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        time.sleep(0.05)
        body = f"{self.path} {threading.active_count()}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 8192


Server(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
