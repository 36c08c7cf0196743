"""Measure `blue broker` beside a FastMCP OAuthProxy; `bench/broker/run` calls it

drive.py BLUE [PYTHON]: the program to measure, and a Python that has FastMCP. Both stand before one
sandbox forge and do the same flow: register, authorize, consent, sign-in, code, tokens, refresh, call.
They are measured one after the other, so that one does not slow the other down. Prints a table.
"""

import base64
import hashlib
import html
import json
import os
import re
import secrets
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

CALLBACK = "http://127.0.0.1:4711/callback"
STARTS = int(os.environ.get("BENCH_STARTS", "15"))
CODES = int(os.environ.get("BENCH_CODES", "600"))
SECONDS = float(os.environ.get("BENCH_SECONDS", "8"))
LANES = int(os.environ.get("BENCH_LANES", "8"))
LOGIN, PASSWORD = "bob", "bob-password"


class Wire:
    """One connection that is kept; as little work as can be, since it shares the cores"""

    def __init__(self, port):
        self.port = port
        self.open()

    def open(self):
        self.socket = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.rest = b""

    def more(self):
        got = self.socket.recv(65536)
        if not got:
            raise ConnectionError("closed")
        self.rest += got

    def line(self):
        while (end := self.rest.find(b"\r\n")) < 0:
            self.more()
        line, self.rest = self.rest[:end], self.rest[end + 2 :]
        return line

    def exactly(self, size):
        while len(self.rest) < size:
            self.more()
        body, self.rest = self.rest[:size], self.rest[size:]
        return body

    def send(self, request):
        self.socket.sendall(request)
        while (end := self.rest.find(b"\r\n\r\n")) < 0:
            self.more()
        head, self.rest = self.rest[:end], self.rest[end + 4 :]
        lower = head.lower()
        status = int(head[9:12])
        if b"\r\ntransfer-encoding: chunked" in lower:
            body = b""
            while size := int(self.line().split(b";")[0], 16):
                body += self.exactly(size)
                self.line()
            self.line()
        elif found := re.search(rb"\r\ncontent-length: (\d+)", lower):
            body = self.exactly(int(found[1]))
        else:
            body = b""
        if b"\r\nconnection: close" in lower:
            self.socket.close()
            self.open()
        return status, head, body

    def post(self, path, body, kind="application/x-www-form-urlencoded", extra=""):
        if isinstance(body, dict):
            body = urlencode(body)
        return self.send(
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nContent-Type: {kind}\r\n{extra}"
            f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
        )


class Browser:
    """Cookies, redirects and forms, as far as a sign-in needs them"""

    def __init__(self):
        self.cookies, self.wires = {}, {}

    def ask(self, method, url, form=None):
        at = urlsplit(url)
        jar = self.cookies.setdefault(at.port, {})
        head = [f"Host: {at.netloc}", "Cookie: " + "; ".join(f"{k}={v}" for k, v in jar.items())]
        body = urlencode(form) if form else ""
        if method == "POST":
            head += [f"Origin: http://{at.netloc}", "Sec-Fetch-Site: same-origin"]
            head += ["Content-Type: application/x-www-form-urlencoded", f"Content-Length: {len(body)}"]
        path = at.path + (f"?{at.query}" if at.query else "")
        wire = self.wires.get(at.port) or self.wires.setdefault(at.port, Wire(at.port))
        status, head, body = wire.send(f"{method} {path} HTTP/1.1\r\n{chr(13).join(chr(10) + h if i else h for i, h in enumerate(head))}\r\n\r\n{body}".encode())
        head = head.decode("latin-1")
        for name, value in re.findall(r"(?mi)^set-cookie: ([^=\s]+)=([^;\r]*)", head):
            jar[name] = value
        text = body.decode()
        onward = re.search(r"(?mi)^location: (\S+)", head)
        onward = onward[1] if onward else None
        if not onward and (meta := re.search(r'content="0;url=([^"]*)"', text)):
            onward = html.unescape(meta[1])
        return status, urljoin(url, onward) if onward else None, text

    def through(self, url):
        """Go through all pages, say yes wherever that is asked, and give where the client is called"""
        status, onward, text = self.ask("GET", url)
        for _ in range(25):
            if onward:
                if onward.startswith(CALLBACK):
                    return onward
                url = onward
                status, onward, text = self.ask("GET", url)
                continue
            at = urlsplit(url)
            form = dict(
                (name, html.unescape(value))
                for tag in re.findall(r"<input\b[^>]*>", text)
                if 'type="hidden"' in tag
                for name in re.findall(r'name="([^"]*)"', tag)
                for value in re.findall(r'value="([^"]*)"', tag)
            )
            if at.path == "/user/login":
                form |= {"user_name": LOGIN, "password": PASSWORD}
            elif at.path == "/login/oauth/authorize":
                url = f"http://{at.netloc}/login/oauth/grant"
                form |= {"granted": "true"}
            elif at.path == "/oauth/consent":
                url = url.split("?")[0]
                form |= {"answer": "approve"}
            elif at.path == "/consent":
                form |= {"action": "approve"}
            else:
                break
            status, onward, text = self.ask("POST", url, form)
        raise SystemExit(f"the sign-in ended at {url} with {status}: {text[:500]}")


class Server:
    """One of the two, with what differs"""

    def __init__(self, name, command, port):
        self.name, self.command, self.port = name, command, port
        self.log = tempfile.TemporaryFile()

    def start(self):
        """Start it, and tell how long it took until it answered"""
        begun = time.perf_counter()
        self.child = subprocess.Popen(
            self.command, stdout=subprocess.DEVNULL, stderr=self.log, env=ENV, stdin=subprocess.DEVNULL
        )
        while True:
            try:
                wire = Wire(self.port)
                status = wire.send(f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n\r\n".encode())[0]
                assert status == 200, status
                return time.perf_counter() - begun
            except ConnectionRefusedError:
                if self.child.poll() is not None:
                    self.log.seek(0)
                    raise SystemExit(f"{self.name} ended: {self.log.read().decode()[-800:]}") from None
                time.sleep(0.0005)

    def stop(self):
        self.child.terminate()
        self.child.wait()

    def memory(self):
        text = Path(f"/proc/{self.child.pid}/status").read_text()
        of = lambda field: int(re.search(rf"{field}:\s+(\d+)", text)[1]) / 1024
        return of("VmRSS"), of("RssAnon")

    def busy(self):
        """Seconds of processor time so far"""
        fields = Path(f"/proc/{self.child.pid}/stat").read_text().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def register(self):
        body = json.dumps(
            {
                "client_name": "Bench",
                "redirect_uris": [CALLBACK],
                "token_endpoint_auth_method": "none",
                "grant_types": ["authorization_code", "refresh_token"],
                "response_types": ["code"],
            }
        )
        status, _, body = Wire(self.port).post("/register", body, "application/json")
        assert status == 201, body
        return json.loads(body)["client_id"]

    def code(self, browser, client):
        """A code, with the form that turns it into tokens"""
        verifier = secrets.token_urlsafe(32)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
        query = {
            "response_type": "code",
            "client_id": client,
            "redirect_uri": CALLBACK,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
            "state": "s",
        }
        called = browser.through(f"http://127.0.0.1:{self.port}/authorize?{urlencode(query)}")
        return {
            "grant_type": "authorization_code",
            "client_id": client,
            "code": parse_qs(urlsplit(called).query)["code"][0],
            "redirect_uri": CALLBACK,
            "code_verifier": verifier,
        }


def tokens(wire, form):
    status, _, body = wire.post("/token", form)
    assert status == 200, (status, body)
    return json.loads(body)


class Load:
    """Several lanes at once, each on its own connection; what each did is timed"""

    def __init__(self, server, work, seconds=None):
        self.took, self.errors = [], []
        self.until = time.perf_counter() + seconds if seconds else None
        busy, begun = server.busy(), time.perf_counter()
        lanes = [threading.Thread(target=self.lane, args=(Wire(server.port), work, n)) for n in range(LANES)]
        for lane in lanes:
            lane.start()
        for lane in lanes:
            lane.join()
        self.whole = time.perf_counter() - begun
        self.busy = server.busy() - busy
        if self.errors:
            raise SystemExit(f"{server.name}: {self.errors[0]!r}")

    def lane(self, wire, work, number):
        try:
            for one in work(wire, number):
                begun = time.perf_counter()
                one()
                self.took.append(time.perf_counter() - begun)
                if self.until and time.perf_counter() > self.until:
                    return
        except Exception as error:
            self.errors.append(error)

    def row(self):
        took = sorted(self.took)
        at = lambda share: took[min(len(took) - 1, int(len(took) * share))] * 1e3
        return {
            "rate": len(took) / self.whole,
            "cpu": self.busy / len(took) * 1e6,
            "p50": at(0.5),
            "p99": at(0.99),
            "count": len(took),
        }


def measure(server):
    found = {}
    starts = []
    for n in range(max(3, STARTS if server.name == "blue broker" else STARTS // 3) + 1):
        starts.append(server.start())
        if n:
            server.stop()
        else:
            # The very first makes the database and its keys.
            found["first start"] = starts.pop()
            server.stop()
    found["start"] = statistics.median(starts)
    server.start()
    time.sleep(1)
    found["idle"] = server.memory()
    client, browser = server.register(), Browser()
    server.code(browser, client)
    whole = []
    for _ in range(20):
        begun = time.perf_counter()
        tokens(Wire(server.port), server.code(browser, client))
        whole.append(time.perf_counter() - begun)
    found["sign-in"] = statistics.median(whole)

    # Codes live for a minute.
    until, codes = time.perf_counter() + 40, []
    while len(codes) < CODES and time.perf_counter() < until:
        codes.append(server.code(browser, client))
    given = [[] for _ in range(LANES)]

    def issue(wire, lane):
        for form in codes[lane::LANES]:
            yield lambda form=form: given[lane].append(tokens(wire, form))

    found["issue"] = Load(server, issue).row()

    def refresh(wire, lane):
        # In turns, so that no grant comes to the limit of its refreshes.
        while True:
            for at, old in enumerate(given[lane]):
                form = {"grant_type": "refresh_token", "client_id": client, "refresh_token": old["refresh_token"]}

                def one(form=form, at=at):
                    given[lane][at] = tokens(wire, form)

                yield one

    found["refresh"] = Load(server, refresh, SECONDS).row()

    ping = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})

    def call(wire, lane):
        bearer = given[lane][0]["access_token"]
        extra = f"Authorization: Bearer {bearer}\r\nAccept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\n"

        def one():
            status, _, body = wire.post("/mcp", ping, "application/json", extra)
            assert status == 200, (status, body)

        while True:
            yield one

    found["call"] = Load(server, call, SECONDS).row()

    def stranger(wire, lane):
        def one():
            status, _, body = wire.post("/mcp", ping, "application/json", "Authorization: Bearer nobody\r\n")
            assert status == 401, (status, body)

        while True:
            yield one

    found["stranger"] = Load(server, stranger, SECONDS / 2).row()
    found["after"] = server.memory()
    server.stop()
    return found


def free_port():
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return it.getsockname()[1]


def main():
    blue, python = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
    with tempfile.TemporaryDirectory() as work:
        ENV.update(HOME=work, PATH=os.environ["PATH"])
        forge = subprocess.Popen(
            [blue, "sandbox", "--seed", "demo", "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=ENV
        )
        try:
            told = json.loads(forge.stdout.readline())
            results = run(blue, python, work, told)
        finally:
            forge.terminate()
            forge.wait()
    table(results)


def run(blue, python, work, told):
    forge, admin = told["url"].rstrip("/"), told["users"][0]["token"]
    wire = Wire(urlsplit(forge).port)

    def application(port, path):
        body = json.dumps(
            {"name": "Bench", "confidential_client": True, "redirect_uris": [f"http://127.0.0.1:{port}{path}"]}
        )
        auth = f"Authorization: token {admin}\r\n"
        status, _, body = wire.post("/api/v1/user/applications/oauth2", body, "application/json", auth)
        assert status == 201, body
        made = json.loads(body)
        return made["client_id"], made["client_secret"]

    results = []
    port = free_port()
    key, secret = application(port, "/oauth/callback")
    Path(work, "broker.secret").write_text(secret)
    Path(work, "broker.toml").write_text(
        f'public_url = "http://127.0.0.1:{port}"\nlisten = "127.0.0.1:{port}"\nforge_url = "{forge}"\n'
        f'client_id = "{key}"\nclient_secret_file = "broker.secret"\ndata = "data"\n'
    )
    results.append(("blue broker", measure(Server("blue broker", [blue, "broker", "--config", f"{work}/broker.toml"], port))))
    if python:
        port = free_port()
        key, secret = application(port, "/auth/callback")
        command = [python, str(Path(__file__).with_name("proxy.py")), forge, key, secret, str(port)]
        results.append(("FastMCP OAuthProxy", measure(Server("FastMCP OAuthProxy", command, port))))
    return results


def table(results):
    names = [name for name, _ in results]
    print(f"| what | {' | '.join(names)} |{' ratio |' if len(names) > 1 else ''}")
    print("|---|" + "---|" * (len(names) + (len(names) > 1)))

    def row(what, of, show, more_is_better=False):
        values = [of(found) for _, found in results]
        line = f"| {what} | {' | '.join(show(value) for value in values)} |"
        if len(values) > 1:
            ours, theirs = values
            line += f" {(ours / theirs if more_is_better else theirs / ours):.1f} |"
        print(line)

    ms = lambda value: f"{value * 1e3:.1f} ms"
    mb = lambda value: f"{value:.1f} MB"
    row("process start to `/healthz`, median", lambda f: f["start"], ms)
    row("the same where database and keys are made", lambda f: f["first start"], ms)
    row("RSS when idle", lambda f: f["idle"][0], mb)
    row("of this, what no file backs", lambda f: f["idle"][1], mb)
    row("one whole sign-in with consent and forge, median", lambda f: f["sign-in"], ms)
    for key, what in [
        ("issue", "tokens for a code"),
        ("refresh", "tokens for a refresh token"),
        ("call", "MCP call with a good token"),
        ("stranger", "MCP call with a bad token"),
    ]:
        row(f"{what}, a second", lambda f: f[key]["rate"], lambda v: f"{v:,.0f}", True)
        row(f"{what}, processor time each", lambda f: f[key]["cpu"], lambda v: f"{v:,.0f} µs")
        row(f"{what}, p99 with {LANES} at once", lambda f: f[key]["p99"], lambda v: f"{v:.1f} ms")
    row("RSS after all this", lambda f: f["after"][0], mb)


# The programs inherit no variable of the user's environment.
ENV = {}

if __name__ == "__main__":
    main()
