"""Finding and downloading: file: indexes, JSON and HTML over HTTP, credentials, broken servers."""

from __future__ import annotations

import base64
import hashlib
import http.server
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_index import FILES, write_index, write_sdist

from hipport.core import HipportError
from hipport.upstream.fetch import cached_archive, fetch
from hipport.upstream.http import Http, passwords_in, redacted
from hipport.upstream.index import IndexConfig, find_archive, pip_config
from hipport.upstream.pins import Pin


class Server(http.server.ThreadingHTTPServer):
    """Serves `pages` (path -> content type, body); remembers what was asked."""

    def __init__(self) -> None:
        self.pages: dict[str, tuple[str, bytes]] = {}
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.broken: set[str] = set()
        self.password = ""
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.requests.append((self.path, dict(self.headers)))
        expected = "Basic " + base64.b64encode(self.server.password.encode()).decode()
        if self.server.password and self.headers.get("Authorization") != expected:
            self.send_error(401)
            return
        page = self.server.pages.get(self.path)
        if page is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", page[0])
        self.send_header("Content-Length", str(len(page[1])))
        self.end_headers()
        self.wfile.write(page[1][: len(page[1]) // 2] if self.path in self.server.broken else page[1])

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as made:
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.fixture
def archive(tmp_path: Path) -> bytes:
    write_sdist(tmp_path / "kernels-1.0.tar.gz", FILES)
    return (tmp_path / "kernels-1.0.tar.gz").read_bytes()


def serve_json(server: Server, archive: bytes, sha256: str | None = None) -> None:
    digest = sha256 or hashlib.sha256(archive).hexdigest()
    files = [
        {"filename": "kernels-1.0-py3-none-any.whl", "url": "/files/w.whl", "hashes": {}},
        {"filename": "kernels-1.0.tar.gz", "url": "/files/kernels-1.0.tar.gz", "hashes": {"sha256": digest}},
        {"filename": "kernels-1.0.post1.tar.gz", "url": "/files/other.tar.gz", "hashes": {}},
        {"filename": "kernels-extra-1.0.tar.gz", "url": "/files/extra.tar.gz", "hashes": {}},
    ]
    body = json.dumps({"meta": {"api-version": "1.0"}, "name": "kernels", "files": files}).encode()
    server.pages["/simple/kernels/"] = ("application/vnd.pypi.simple.v1+json", body)
    server.pages["/files/kernels-1.0.tar.gz"] = ("application/gzip", archive)


def test_pip_configuration_is_pips_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "pip.conf").write_text("[global]\nindex-url = file:///conf/simple/\ntimeout = 7\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "file:///extra/simple")
    config = pip_config()
    assert config.indexes == ("file:///conf/simple", "file:///extra/simple")
    assert config.http.timeout_s == 7
    monkeypatch.setenv("PIP_INDEX_URL", "file:///env/simple")  # the environment wins, as in pip
    assert pip_config().indexes[0] == "file:///env/simple"
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    assert (pip_config().indexes, pip_config().links) == ((), (str(tmp_path),))


def test_json_index_prefers_the_sdist_of_exactly_that_version(server: Server, archive: bytes) -> None:
    serve_json(server, archive)
    link = find_archive(IndexConfig((f"{server.url}/simple",), (), Http()), "Kernels", "1.0.0")
    assert (link.url, link.filename) == (f"{server.url}/files/kernels-1.0.tar.gz", "kernels-1.0.tar.gz")
    assert link.sha256 == hashlib.sha256(archive).hexdigest()
    accept = server.requests[0][1]["Accept"]
    assert "application/vnd.pypi.simple.v1+json" in accept
    assert "text/html" in accept


def test_html_index_over_http_with_fragment_hash(server: Server, archive: bytes) -> None:
    sha256 = hashlib.sha256(archive).hexdigest()
    page = f'<a href="../../files/kernels-1.0.tar.gz#sha256={sha256}" data-yanked="">kernels</a>'
    server.pages["/simple/kernels/"] = ("text/html; charset=utf-8", page.encode())
    link = find_archive(IndexConfig((f"{server.url}/simple",), (), Http()), "kernels", "1.0")
    assert (link.url, link.sha256) == (f"{server.url}/files/kernels-1.0.tar.gz", sha256)


def test_later_index_and_find_links_are_asked_when_the_first_has_none(
    server: Server, archive: bytes, tmp_path: Path
) -> None:
    config = IndexConfig((f"{server.url}/empty",), (str(tmp_path),), Http())
    assert find_archive(config, "kernels", "1.0").url == (tmp_path / "kernels-1.0.tar.gz").as_uri()
    with pytest.raises(HipportError, match=r"kernels 2\.0 is not on the configured index"):
        find_archive(config, "kernels", "2.0")


def test_download_is_checked_cached_and_offline_afterwards(published: Pin) -> None:
    seen: list[tuple[int, int]] = []
    path, sha256 = fetch(published.name, published.version, published.sha256, progress=lambda *p: seen.append(p))
    assert sha256 == published.sha256
    assert seen[-1] == (path.stat().st_size, path.stat().st_size)

    def unused() -> IndexConfig:
        raise AssertionError("the index is not needed any more")

    assert fetch("kernels", "1.0", published.sha256, offline=True, config=unused)[0] == path
    path.write_bytes(b"damaged")
    assert cached_archive(published.sha256) is None
    with pytest.raises(HipportError, match="--offline"):
        fetch("kernels", "1.0", published.sha256, offline=True)


def test_wrong_hash(published: Pin, tmp_path: Path) -> None:
    with pytest.raises(HipportError, match=f"has sha256 {published.sha256}, expected {'0' * 64}"):
        fetch("kernels", "1.0", "0" * 64)
    assert [p for p in (tmp_path / "cache").rglob("*") if p.is_file()] == []


def test_index_hash_is_checked_when_nothing_is_pinned(server: Server, archive: bytes) -> None:
    serve_json(server, archive, sha256="1" * 64)
    config = IndexConfig((f"{server.url}/simple",), (), Http())
    with pytest.raises(HipportError, match=f"expected {'1' * 64}"):
        fetch("kernels", "1.0", config=lambda: config)


def test_broken_connection(server: Server, archive: bytes, tmp_path: Path) -> None:
    serve_json(server, archive)
    config = IndexConfig((), (f"{server.url}/files/",), Http())
    server.pages["/files/"] = ("text/html", b'<a href="kernels-1.0.tar.gz">k</a>' + b" " * 200)
    server.broken.add("/files/kernels-1.0.tar.gz")
    with pytest.raises(HipportError, match="broke off after"):
        fetch("kernels", "1.0", config=lambda: config)
    assert [p for p in (tmp_path / "cache").rglob("*") if p.is_file()] == []


def test_unreachable_index_names_the_address_without_its_password() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    config = IndexConfig((f"http://user:secret@127.0.0.1:{port}/simple",), (), Http(timeout_s=2))
    with pytest.raises(HipportError, match="cannot be reached") as caught:
        find_archive(config, "kernels", "1.0")
    assert f"127.0.0.1:{port}" in caught.value.message
    assert "secret" not in str(caught.value)
    assert redacted("https://u:p@host/x") == "https://host/x"


def test_credentials_of_the_index_serve_its_files(server: Server, archive: bytes) -> None:
    server.password = "user:pass word"
    serve_json(server, archive)
    index = server.url.replace("http://", "http://user:pass%20word@") + "/simple"
    config = IndexConfig((index,), (), Http(passwords=passwords_in((index,))))
    path, _ = fetch("kernels", "1.0", config=lambda: config)
    assert path.read_bytes() == archive
    with pytest.raises(HipportError, match="answers 401"):
        find_archive(IndexConfig((f"{server.url}/simple",), (), Http()), "kernels", "1.0")


def test_credentials_from_netrc(server: Server, archive: bytes, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    netrc = tmp_path / "home/.netrc"
    netrc.write_text("machine 127.0.0.1 login user password secret\n")
    netrc.chmod(0o600)
    server.password = "user:secret"
    serve_json(server, archive)
    assert find_archive(IndexConfig((f"{server.url}/simple",), (), Http()), "kernels", "1.0").filename


def test_damaged_answer_and_unknown_scheme(server: Server) -> None:
    server.pages["/simple/kernels/"] = ("application/vnd.pypi.simple.v1+json", b'{"files": 3}')
    with pytest.raises(HipportError, match="damaged file list"):
        find_archive(IndexConfig((f"{server.url}/simple",), (), Http()), "kernels", "1.0")
    with pytest.raises(HipportError, match="'gopher' is not supported"):
        find_archive(IndexConfig(("gopher://host/simple",), (), Http()), "kernels", "1.0")


def test_full_disk_while_downloading(published: Pin, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, *arguments: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(HipportError, match=r"cannot store kernels-1\.0\.tar\.gz: No space left"):
        fetch("kernels", "1.0", published.sha256)


def test_links_relative_to_a_file_index(tmp_path: Path) -> None:
    write_sdist(tmp_path / "files/kernels-1.0.tar.gz", FILES)
    index = write_index(tmp_path, "kernels", ["../../files/kernels-1.0.tar.gz#sha256=" + "2" * 64])
    link = find_archive(IndexConfig((index,), (), Http()), "kernels", "1.0")
    assert link.url == (tmp_path / "files/kernels-1.0.tar.gz").as_uri()
    assert link.sha256 == "2" * 64
