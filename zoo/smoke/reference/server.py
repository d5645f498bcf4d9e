"""HTTP around the engine: the standard library's server, one thread a connection, and a clean end."""

from __future__ import annotations

import json
import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from zoo.smoke.reference import NAME, answers, chat, say
from zoo.smoke.reference.engine import Answer, Engine
from zoo.smoke.reference.options import Options
from zoo.smoke.reference.requests import BadRequestError, Request, parse_request

_HEALTH_S = 20.0  # SGLang's SGLANG_HEALTH_CHECK_TIMEOUT
_LONGEST_BODY = 64 << 20
_JSON = "application/json"


class Server(ThreadingHTTPServer):
    """Bound to its address when it is made, so that a port in use is told before anything is loaded; it
    listens from :meth:`serve` on.

    Raises:
        OSError: the address cannot be used.
    """

    daemon_threads = False  # closing waits for the answers that are under way
    request_queue_size = 64

    def __init__(self, options: Options) -> None:
        super().__init__((options.host, options.port), _Handler, bind_and_activate=False)
        self.options = options
        self.engine: Engine | None = None
        self.stopping = threading.Event()
        try:
            self.server_bind()
        except OSError:
            self.server_close()
            raise

    def serve(self, engine: Engine) -> None:
        """Answer until SIGTERM or Ctrl-C, then finish what is under way."""
        self.engine = engine
        self.server_activate()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        say(f"ready on http://{self.options.host}:{self.server_port}")
        self.serve_forever(poll_interval=0.05)
        self.server_close()
        say("stopped")

    def _stop(self, number: int, _: object) -> None:
        if not self.stopping.is_set():
            self.stopping.set()
            say(f"{signal.Signals(number).name}: finishing the requests that run, taking no more")
            # Not from here: serve_forever, which this interrupts, is what shutdown waits for.
            threading.Thread(target=self.shutdown).start()


class _Handler(BaseHTTPRequestHandler):
    """One request. HTTP/1.0: a connection that stays open would keep the server from ending."""

    server: Server
    server_version, sys_version = NAME.replace(" ", "-"), ""
    timeout = 10  # seconds that a client may read or write nothing

    def do_GET(self) -> None:
        self._answer({
            "/health": self._health,
            "/health_generate": self._health,
            "/server_info": lambda: self._send(200, answers.server_info(self._engine, self.server.options)),
            "/model_info": lambda: self._send(200, answers.model_info(self._engine, self.server.options)),
            "/flush_cache": self._flush,
        })  # fmt: skip

    def do_POST(self) -> None:
        self._answer({
            "/generate": self._generate,
            "/v1/chat/completions": self._chat,
            "/flush_cache": self._flush,
        })  # fmt: skip

    def log_message(self, *_: object) -> None:
        """Nothing: each answer has its own line."""

    @property
    def _engine(self) -> Engine:
        assert self.server.engine is not None  # it listens only with one
        return self.server.engine

    def _answer(self, routes: Mapping[str, Callable[[], None]]) -> None:
        route = routes.get(self.path.partition("?")[0])
        try:
            if route is None:
                self._send(404, {"detail": "Not Found"})
            elif self.server.stopping.is_set():
                self._send(503, {"detail": f"the {NAME} is stopping"})
            else:
                route()
        except (ConnectionError, TimeoutError) as error:
            say(f"the client of {self.path} went away ({type(error).__name__})")
        except Exception as error:
            say(f"error: {self.path}: {type(error).__name__}: {error}")
            self._send(500, {"error": {"message": f"{type(error).__name__}: {error}"}})

    def _health(self) -> None:
        healthy = self._engine.healthy(_HEALTH_S)
        if not healthy:
            say(f"error: health check failed: no token for {_HEALTH_S:g} seconds")
        self._send(200 if healthy else 503, None)

    def _flush(self) -> None:
        self._send_text(200, "Cache flushed: this engine keeps none.\n", "text/plain")

    def _generate(self) -> None:
        number, begun = uuid.uuid4().hex, time.monotonic()
        try:
            body = self._body()
            request = parse_request(body, self._engine.target, drafted=self._engine.draft is not None)
        except BadRequestError as error:
            say(f"refused: {error}")
            self._send(400, {"error": {"message": str(error)}})
            return
        made = (
            (answer, answers.generated(self._engine, request, answer, number, time.monotonic() - begun))
            for answer in self._engine.generate(request)
        )
        if request.stream:
            self._stream(request, made)
            return
        *_, (answer, last) = made
        self._told(request, answer)
        self._send(200, last)

    def _stream(self, request: Request, made: Iterator[tuple[Answer, dict[str, Any]]]) -> None:
        """Server-sent events, each with all tokens so far, as SGLang's. An error is the last event."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        try:
            for answer, chunk in made:
                self._event(json.dumps(chunk))
                if answer.finish is not None:
                    self._told(request, answer)
        except RuntimeError as error:  # the status line is out already
            say(f"error: {self.path}: {error}")
            self._event(json.dumps({"error": {"message": str(error), "code": 500}}))
        self._event("[DONE]")

    def _event(self, text: str) -> None:
        self.wfile.write(f"data: {text}\n\n".encode())

    def _chat(self) -> None:
        number, begun = uuid.uuid4().hex, time.monotonic()
        try:
            body = self._body()
            request = chat.parse_chat(body, self._engine)
        except BadRequestError as error:
            say(f"refused: {error}")
            message = {"object": "error", "message": str(error), "type": "BadRequestError", "param": None}
            self._send(400, {**message, "code": 400})
            return
        *_, answer = self._engine.generate(request)
        self._told(request, answer)
        seconds = time.monotonic() - begun
        self._send(200, chat.completion(self._engine, body, request, answer, number, seconds))

    def _body(self) -> dict[str, Any]:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > _LONGEST_BODY:
            raise BadRequestError(f"a body needs a Content-Length of at most {_LONGEST_BODY} bytes")
        try:
            body = json.loads(self.rfile.read(int(length)))
        except ValueError as error:
            raise BadRequestError(f"the body is not JSON ({error})") from error
        if not isinstance(body, dict):
            raise BadRequestError("the body is not a JSON object")
        return body

    def _told(self, request: Request, answer: Answer) -> None:
        counts = ""
        if self._engine.draft is not None:
            counts = f", {len(answer.accepted)} verify steps, {sum(answer.accepted)} correct drafts"
        say(f"answered: {len(request.input_ids)} prompt tokens, {len(answer.tokens)} new tokens{counts}")

    def _send(self, status: int, content: Any) -> None:
        self._send_text(status, "" if content is None else json.dumps(content), _JSON)

    def _send_text(self, status: int, text: str, kind: str) -> None:
        raw = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)
