"""JSON Web Tokens: what --ws-auth signed-bearer-token takes."""
import base64
import hashlib
import hmac
import json
import shutil
import signal
import subprocess

import tokens
from client import (BUILD, Client, RpcError, Server, TMP, check, connect, main,
                    wait_for, LIMIT)
from tokens import in_seconds, jwt, status

KEY = b"0123456789abcdef0123456789abcdef"
HS256 = {"alg": "HS256", "typ": "JWT"}


def server_with(*options):
    path = tokens.secret_file("key", b"\n" + KEY + b" \n")
    return Server("RequireToken=always", "BearerSecretFile=" + path,
                  "TokenUser=" + tokens.USER,
                  *(options if "RequireSubject=yes" in options else
                    ("RequireSubject=no", *options)))


def judged(server, cases):
    """Each wrong one of a server of its own: guesses are counted."""
    for want, name, token in cases:
        got = status(server.url, token)
        check(got == want, "%s: %s, not %s" % (name, got, want))


def good(**more):
    return {"exp": in_seconds(600), **more}


def times():
    server = server_with()
    judged(server, [
        (101, "good", jwt(KEY, good())),
        (101, "no type", jwt(KEY, good(), {"alg": "HS256"})),
        (101, "another type", jwt(KEY, good(), {"alg": "HS256",
                                                "typ": "at+jwt"})),
        (101, "expired within the skew", jwt(KEY, {"exp": in_seconds(-2)})),
        (401, "expired", jwt(KEY, {"exp": in_seconds(-40)})),
        (401, "long ago", jwt(KEY, {"exp": 0})),
        (401, "negative", jwt(KEY, {"exp": -1})),
        (101, "early within the skew", jwt(KEY, good(nbf=in_seconds(15)))),
        (401, "not yet", jwt(KEY, good(nbf=in_seconds(300)))),
        (101, "nbf null", jwt(KEY, good(nbf=None))),
        (401, "nbf text", jwt(KEY, good(nbf="1"))),
        (401, "no exp", jwt(KEY, {})),
        (401, "exp null", jwt(KEY, {"exp": None})),
        (401, "exp text", jwt(KEY, {"exp": str(in_seconds(600))})),
        (401, "exp fraction", jwt(KEY, {"exp": in_seconds(600) + 0.5})),
        (401, "exp too big", jwt(KEY, b'{"exp":99999999999999999999}')),
        (401, "exp twice", jwt(KEY, b'{"exp":9999999999,"exp":9999999999}')),
        (101, "other claims", jwt(KEY, good(iss="x", aud="y", jti=[1]))),
        (401, "iss number", jwt(KEY, good(iss=1))),
        (401, "aud object", jwt(KEY, good(aud={}))),
    ])
    server.stop()
    server = server_with("BearerClockSkew=0")
    judged(server, [(401, "no skew", jwt(KEY, {"exp": in_seconds(-15)}))])
    server.stop()


def algorithms():
    """Signed or not: nothing but HS256 with our secret."""
    def unsigned(alg):
        return "%s.%s." % (tokens.b64(json.dumps(
            {"alg": alg, "typ": "JWT"}).encode()),
            tokens.b64(json.dumps(good()).encode()))

    claims = good()
    signed = jwt(KEY, claims)
    head, body, mac = signed.split(".")
    forged = [
        ("none", unsigned("none")),
        ("None", unsigned("NONE") + "AAAA"),
        ("not signed", unsigned("HS256")),
        ("HS512", jwt(KEY, claims, {"alg": "HS512"}, hashlib.sha512)),
        ("HS384", jwt(KEY, claims, {"alg": "HS384"}, hashlib.sha384)),
        ("another secret", jwt(KEY[::-1], claims)),
        ("the secret with its line end", jwt(KEY + b"\n", claims)),
        ("cut", signed[:-1]),
        ("longer", signed + "A"),
        ("padded", signed + "="),
        ("tail bits", signed[:-1] + chr(ord(signed[-1]) + 1)),
        ("another body", ".".join([head, tokens.b64(json.dumps(
            good(exp=in_seconds(900))).encode()), mac])),
        ("no body", ".".join([head, mac])),
        ("four parts", signed + "." + mac),
        ("five parts", ".".join([head, body, "", mac, ""])),
        ("dots", ".."),
        ("in the other alphabet", head + "." + body + "." +
         base64.b64encode(hmac.new(KEY, (head + "." + body).encode(),
                                   hashlib.sha256).digest()).decode()),
    ]
    # These are by who has the secret, and still not taken.
    strange = [
        ("alg HS512, but HS256", jwt(KEY, claims, {"alg": "HS512"})),
        ("alg none, but HS256", jwt(KEY, claims, {"alg": "none"})),
        ("alg in lower case", jwt(KEY, claims, {"alg": "hs256"})),
        ("no alg", jwt(KEY, claims, {"typ": "JWT"})),
        ("alg twice", jwt(KEY, claims, b'{"alg":"HS256","alg":"HS256"}')),
        ("alg null", jwt(KEY, claims, {"alg": None})),
        ("crit", jwt(KEY, claims, {"alg": "HS256", "crit": ["x"], "x": 1})),
        ("header no object", jwt(KEY, claims, b'"HS256"')),
        ("header no JSON", jwt(KEY, claims, b'alg=HS256')),
        ("claims no object", jwt(KEY, [good()])),
        ("claims no JSON", jwt(KEY, b"{")),
        ("claims not UTF-8", jwt(KEY, b'{"exp":9999999999,"x":"\xff"}')),
        ("claims with more behind", jwt(KEY, b'{"exp":9999999999}{}')),
        ("deep claims", jwt(KEY, b'{"exp":9999999999,"x":%s1%s}' % (
            b"[" * 200, b"]" * 200))),
        ("empty", jwt(KEY, b"", b"")),
    ]
    server = server_with()
    judged(server, [(401, name, t) for name, t in strange])
    check(status(server.url, signed) == 101, "the right one")
    server.stop()
    for at in range(0, len(forged), 8):
        server = server_with()
        judged(server, [(401, name, t) for name, t in forged[at:at + 8]])
        check(status(server.url, signed) == 101, "the right one")
        server.stop()


def parties():
    server = server_with("BearerIssuer=me", "BearerAudience=you")
    judged(server, [
        (101, "both", jwt(KEY, good(iss="me", aud="you"))),
        (101, "a list", jwt(KEY, good(iss="me", aud=["x", "you"]))),
        (401, "not in the list", jwt(KEY, good(iss="me", aud=["x", "yo"]))),
        (401, "empty list", jwt(KEY, good(iss="me", aud=[]))),
        (401, "list with more", jwt(KEY, good(iss="me", aud=["you", 5]))),
        (401, "no audience", jwt(KEY, good(iss="me"))),
        (401, "another audience", jwt(KEY, good(iss="me", aud="your"))),
        (401, "no issuer", jwt(KEY, good(aud="you"))),
        (401, "another issuer", jwt(KEY, good(iss="m", aud="you"))),
        (401, "issuer with NUL", jwt(KEY, good(iss="me\0", aud="you"))),
        (401, "a list of issuers", jwt(KEY, good(iss=["me"], aud="you"))),
    ])
    wait_for(lambda: server.has_logged("wrong audience"), LIMIT,
             "the reason in the log")
    server.stop()


def subjects():
    """A session belongs to the subject, whichever token shows it."""
    server = server_with("RequireSubject=yes")
    judged(server, [(401, "no subject", jwt(KEY, good())),
                    (401, "null", jwt(KEY, good(sub=None))),
                    (401, "a number", jwt(KEY, good(sub=5))),
                    (101, "a subject", jwt(KEY, good(sub="ann")))])
    wait_for(lambda: server.has_logged("no subject"), LIMIT,
             "the reason in the log")
    server.stop()
    server = server_with()
    tails = {name: jwt(KEY, good(**claims)) for name, claims in {
        "none": {}, "ann": {"sub": "ann"}, "bob": {"sub": "bob"},
        "long": {"sub": "a" * 65}, "longer": {"sub": "a" * 66},
        "number": {"sub": 5}}.items()}
    for name, token in tails.items():
        with connect(server.url, token=token) as c:
            out, _ = c.run("id", "id", "-u")
            check(out == b"%d\n" % tokens.UID, "%s ran as %r" % (name, out))
            for other, theirs in tails.items():
                # Without a subject all are one.
                if {name, other} in ({name}, {"none", "number"}):
                    continue
                with Client(server.url, token=theirs) as d:
                    try:
                        d.initialize(c.session)
                        check(False, "%s has %s's session" % (other, name))
                    except RpcError as e:
                        check(e.code == -32600, "%s" % e)
            c.start("p", "sleep", "1000")
            session = c.session
            c.reset()
        fresh = jwt(KEY, {**json.loads(base64.urlsafe_b64decode(
            token.split(".")[1] + "==")), "exp": in_seconds(900)})
        wait_for(lambda t=fresh, s=session: resumes(server, t, s), LIMIT,
                 "resumed by a newer token")
    check(KEY.decode() not in server.log(), "the secret in the log")
    check(not any(t in server.log() for t in tails.values()),
          "a token in the log")
    server.stop()


def resumes(server, token, session):
    try:
        connect(server.url, session, token=token).close()
        return True
    except RpcError as e:
        check(e.code == -32010, "%s" % e)
        return False


# --- the switches of the reference ---

def run(*argv, listen="ws://127.0.0.1:0"):
    """The program's status and words when it should not start."""
    r = subprocess.run([BUILD + "/execsrvd", "-t", "--listen", listen, *argv],
                       capture_output=True, timeout=LIMIT, check=False)
    return r.returncode, r.stderr.decode()


class Switched(Server):
    """A server with switches."""

    def __init__(self, *switches):
        super().__init__("TokenUser=" + tokens.USER, prefix=(
            "sh", "-c", 'p=$1; shift; exec "$p" "$@" %s' %
            " ".join("'%s'" % s for s in switches), "-"))


class Signer:
    """With a private key, of openssl(1)."""

    def __init__(self, name, is_ec):
        self.path, self.is_ec = "%s/%s" % (TMP, name), is_ec
        kind = ["EC", "-pkeyopt", "ec_paramgen_curve:P-256"] if is_ec else \
            ["RSA", "-pkeyopt", "rsa_keygen_bits:2048"]
        subprocess.run(["openssl", "genpkey", "-algorithm", *kind, "-out",
                        self.path], check=True, capture_output=True)

    def key(self):
        """The public one."""
        out = subprocess.run(
            ["openssl", "pkey", "-in", self.path, "-pubout", "-outform",
             "DER"], check=True, capture_output=True).stdout
        if self.is_ec:
            return {"kty": "EC", "crv": "P-256", "x": tokens.b64(out[-64:-32]),
                    "y": tokens.b64(out[-32:])}
        # The modulus stands before the exponent: 02 03 01 00 01.
        return {"kty": "RSA", "n": tokens.b64(out[-261:-5]), "e": "AQAB"}

    def sign(self, claims, algorithm=None):
        header = {"alg": algorithm or ("ES256" if self.is_ec else "RS256"),
                  "kid": "x"}
        body = ".".join(tokens.b64(json.dumps(part).encode())
                        for part in (header, claims))
        out = subprocess.run(["openssl", "dgst", "-sha256", "-sign",
                              self.path], input=body.encode(), check=True,
                             capture_output=True).stdout
        return body + "." + tokens.b64(raw(out) if self.is_ec else out)


def raw(der):
    """R and S of a signature."""
    out, at = b"", 2
    for _ in range(2):
        n = der[at + 1]
        out += int.from_bytes(der[at + 2:at + 2 + n], "big").to_bytes(
            32, "big")
        at += 2 + n
    return out


def public_keys():
    """RS256 and ES256, beside HS256; other keys by a reload."""
    if shutil.which("openssl") is None:
        print("left out: no openssl")
        return
    rsa, ec, other = (Signer("rsa", False), Signer("ec", True),
                      Signer("other", True))
    path = tokens.secret_file("keys", json.dumps(
        {"keys": [rsa.key(), ec.key()]}).encode())
    claims = good(aud="here", sub="ann")
    try:
        server_with("BearerKeysFile=" + path)
        check(False, "no audience is needed")
    except AssertionError as e:
        check("BearerAudience" in str(e), str(e))
    settings = tokens.secret_file("settings", (
        "RequireToken always\nBearerSecretFile %s\nTokenUser %s\n"
        "BearerKeysFile %s\nBearerAudience here\n" % (
            tokens.secret_file("key", KEY), tokens.USER, path)).encode())
    server = Server(args=("-D", "-f", settings))
    judged(server, [
        (101, "RSA", rsa.sign(claims)),
        (101, "P-256", ec.sign(claims)),
        (101, "the secret", jwt(KEY, claims)),
        (401, "another audience", rsa.sign(good(aud="there"))),
        (401, "says HS256", ec.sign(claims, "HS256")),
        (401, "says none", rsa.sign(claims, "none")),
        (401, "expired", ec.sign({**claims, "exp": 1})),
        # What is public is no secret.
        (401, "HMAC with the key", jwt(rsa.key()["n"].encode(), claims)),
        (401, "another key", other.sign(claims))])
    with open(path, "w", encoding="ascii") as f:
        json.dump({"keys": [other.key()]}, f)
    server.process.send_signal(signal.SIGHUP)
    # Guesses are counted: none before that.
    wait_for(lambda: server.has_logged("configuration was read again"), LIMIT,
             "the reload")
    wait_for(lambda: status(server.url, other.sign(claims)) == 101, LIMIT,
             "the new key is taken")
    judged(server, [(401, "the old key", ec.sign(claims))])
    server.stop()


def switches():
    token = tokens.new()
    lone = tokens.secret_file("lone", token.encode() + b"\n")
    key = tokens.secret_file("key", KEY)
    short = tokens.secret_file("short", KEY[1:])
    digest = hashlib.sha256(token.encode()).hexdigest()
    for given in (("--ws-token-file", lone), ("--ws-token-sha256", digest),
                  ("--ws-token-sha256", digest.upper())):
        server = Switched("--ws-auth", "capability-token", *given)
        check([status(server.url, t) for t in (token, "x")] == [101, 401],
              "%s" % (given,))
        check(tokens.ask(server.url)[0] == 401, "without a token")
        server.stop()
    server = Switched("--ws-auth", "signed-bearer-token",
                      "--ws-shared-secret-file", key, "--ws-issuer", "me",
                      "--ws-audience", "you",
                      "--ws-max-clock-skew-seconds", "100")
    judged(server, [
        (101, "all", jwt(KEY, {"exp": in_seconds(-35), "iss": "me",
                               "aud": "you"})),
        (401, "none", jwt(KEY, good())), (401, "plain", token)])
    check(tokens.ask(server.url)[0] == 401, "without a token")
    server.stop()
    capability = ("--ws-auth", "capability-token")
    signed = ("--ws-auth", "signed-bearer-token")
    for argv in (
            capability, signed, ("--ws-auth", "none"), ("--ws-auth", ""),
            ("--ws-token-file", lone), ("--ws-token-sha256", digest),
            ("--ws-shared-secret-file", key), ("--ws-issuer", "x"),
            ("--ws-audience", "x"), ("--ws-max-clock-skew-seconds", "1"),
            (*capability, "--ws-token-file", lone, "--ws-token-sha256",
             digest),
            (*capability, "--ws-token-file", lone, "--ws-issuer", "x"),
            (*capability, "--ws-token-file", ""),
            (*capability, "--ws-token-sha256", digest[1:]),
            (*signed, "--ws-shared-secret-file", key, "--ws-token-file",
             lone),
            (*signed, "--ws-shared-secret-file", ""),
            (*signed, "--ws-shared-secret-file", key, "--ws-audience", ""),
            (*signed, "--ws-shared-secret-file", key,
             "--ws-max-clock-skew-seconds", "1m")):
        code, words = run(*argv)
        check(code == 2 and ("ws-" in words or "empty" in words),
              "%s: %s %s" % (argv, code, words))
    code, words = run(*capability, "--ws-token-file", lone, listen="stdio")
    check(code == 2 and "stdio" in words, "stdio: %s %s" % (code, words))
    code, words = run(*capability, "--ws-token-sha256", "x" * 64)
    check(code == 78 and "sha256" in words, "digits: %s %s" % (code, words))
    try:
        Server("BearerSecretFile=" + short, "TokenUser=" + tokens.USER)
        check(False, "31 bytes are enough")
    except AssertionError as e:
        check("32 bytes" in str(e), str(e))


main(times, algorithms, parties, subjects, public_keys, switches)
