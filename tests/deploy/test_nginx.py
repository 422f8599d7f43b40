"""nginx with our configuration in front of a service: who may do what, and what is sent again."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import processes
import pytest
from service_client import ADMIN, Running, served

from rankloop.live.settings import read_config
from rankloop.service.limits import Limits

DEPLOY = Path(__file__).parents[2] / "deploy"
PAGE = "https://shop.example"
SECONDS_TO_START = 20.0


def free_ports(n: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [int(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Proxied:
    """A service behind nginx."""

    def __init__(self, running: Running, public: int, internal: int) -> None:
        self.running = running
        self.browser_key = running.key("events", origins=[PAGE])
        self.public = f"https://127.0.0.1:{public}"
        self.internal = f"http://127.0.0.1:{internal}"

    def browser(self) -> httpx.Client:
        """A client on the open network."""
        headers = {"Authorization": f"Bearer {self.browser_key}", "Origin": PAGE}
        return httpx.Client(base_url=self.public, headers=headers, verify=False, timeout=60)

    def site(self) -> httpx.Client:
        """A client in the site's own network."""
        return httpx.Client(base_url=self.internal, headers={"Authorization": f"Bearer {ADMIN}"}, timeout=60)


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    nginx = processes.tool("nginx", where="apt-get install nginx")
    openssl = processes.tool("openssl", where="apt-get install openssl")
    folder = tmp_path_factory.mktemp("nginx")
    command = "req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -keyout key.pem -out cert.pem"
    processes.run([openssl, *command.split()], cwd=folder)
    limits = Limits.told(read_config(DEPLOY / "rankloop.toml")["serve"])
    with served(folder / "shop.db", limits=limits) as running:
        running.admin.put("/v1/loops/search", json={"kind": "rerank"})
        public, internal, nobody = free_ports(3)
        port = running.address.rsplit(":", 1)[1]
        site = (DEPLOY / "nginx.conf").read_text()
        for old, new in (
            (r"server 127.0.0.1:8000 .*;", f"server 127.0.0.1:{port}; server 127.0.0.1:{nobody} max_fails=0;"),
            (r"/etc/nginx/tls/shop.example.crt", f"{folder}/cert.pem"),
            (r"/etc/nginx/tls/shop.example.key", f"{folder}/key.pem"),
            (r"listen 443 ssl http2", f"listen 127.0.0.1:{public} ssl http2"),
            (r"listen \[::\]:443 ssl http2;", ""),
            (r"listen 10.0.0.1:8080", f"listen 127.0.0.1:{internal}"),
        ):
            site, n = re.subn(old, new, site, count=1)
            assert n, f"the configuration has no {old}"
        (folder / "site.conf").write_text(site)
        names = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        places = " ".join(f"{name}_temp_path {folder}/{name};" for name in names)
        (folder / "nginx.conf").write_text(
            f"daemon off; pid {folder}/pid; error_log {folder}/errors warn; worker_processes 1; events {{}} "
            f"http {{ {places} include {folder}/site.conf; }}"
        )
        with processes.started([nginx, "-p", str(folder), "-c", str(folder / "nginx.conf")]) as process:
            ends = time.monotonic() + SECONDS_TO_START
            while True:
                assert process.poll() is None, process.communicate()[1] + (folder / "errors").read_text()
                try:
                    socket.create_connection(("127.0.0.1", internal), 1).close()
                    break
                except OSError:
                    assert time.monotonic() < ends
                    time.sleep(0.05)
            try:
                yield Proxied(running, public, internal)
            finally:
                process.terminate()  # with its children; otherwise it would be killed, and they would stay
                process.wait(20)


def test_browsers_send_events_and_nothing_else(proxied: Proxied) -> None:
    with proxied.browser() as browser, proxied.site() as site:
        shown = site.post("/v1/loops/search/rank", json={"key": "k", "items": ["a", "b"]}).json()
        answer = browser.post("/v1/events", json={"impression": shown["id"], "item": "a"})
        assert answer.json() == {"fate": "accepted"}
        assert answer.headers["access-control-allow-origin"] == PAGE
        assert "max-age" in answer.headers["strict-transport-security"]
        for path in ("/", "/metrics", "/v1/loops", "/v1/loops/search", "/v1/keys", "/health/live"):
            assert browser.get(path, headers={"Authorization": f"Bearer {ADMIN}"}).status_code == 404, path
        assert browser.post("/v1/loops/search/rank", json={"key": "k", "items": ["a", "b"]}).status_code == 404
        assert browser.get("/v1/events").status_code == 403
        assert browser.post("/v1/events", content=b"x" * 70_000).status_code == 413


def test_the_site_does_the_rest(proxied: Proxied) -> None:
    with proxied.site() as site:
        assert site.get("/v1/loops").status_code == 200
        assert site.get("/health/ready").json() == {"status": "ready"}
        assert site.get("/metrics").status_code == 404, "one of several processes would answer"
        told = site.get("/v1/nowhere")
        assert told.json()["request"] == told.headers["x-request-id"], "the proxy's id of the request is in the log"


def test_a_machine_that_is_gone_costs_no_request(proxied: Proxied) -> None:
    """Every other request goes to a port where nobody listens, and is tried again."""
    with proxied.site() as site:
        before = proxied.running.service.metrics.requests["rank", 200]
        for _ in range(30):
            shown = site.post("/v1/loops/search/rank", json={"key": "k", "items": ["a", "b"]}).json()
            assert site.post("/v1/events", json={"impression": shown["id"], "item": "b"}).json() == {"fate": "accepted"}
        assert proxied.running.service.metrics.requests["rank", 200] - before == 30, "a list was asked for twice"


def test_one_address_is_slowed_down_and_others_are_not(proxied: Proxied) -> None:
    with proxied.browser() as browser, proxied.site() as site:
        answers = {200}
        for _ in range(2000):
            answers.add(browser.post("/v1/events", json=[]).status_code)
            if 429 in answers:
                break
        assert answers == {200, 429}
        assert site.post("/v1/events", json=[]).status_code == 200
