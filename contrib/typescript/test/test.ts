/* usage: test.js URL ours|reference: the client against a server, through a
   proxy that cuts connections; each request is checked by the schema. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer, connect, type AddressInfo, type Socket } from "node:net";
import { Ajv2020 } from "ajv/dist/2020.js";
import { Client, ServerError, LostError, type Status } from "../client.js";

const [, , url = "", kind = ""] = process.argv;
const isOurs = kind === "ours";
const ajv = new Ajv2020({ strict: false, validateFormats: false });
const isRequest = ajv.compile(JSON.parse(readFileSync(
	new URL("../../protocol.schema.json", import.meta.url), "utf8")));
let checked = 0;

function onMessage(isSent: boolean, text: string): void {
	const m = JSON.parse(text);
	if (isSent && m.id !== undefined) {
		assert(isRequest(m), text + JSON.stringify(isRequest.errors));
		checked++;
	}
}

const open = new Set<Socket>();
const to = new URL(url);
const proxy = createServer((near) => {
	const far = connect(Number(to.port), to.hostname);
	for (const [a, b] of [[near, far], [far, near]] as const) {
		open.add(a);
		a.pipe(b);
		a.on("error", () => b.destroy());
		a.on("close", () => { open.delete(a); b.destroy(); });
	}
});
await new Promise<void>((done) => { proxy.listen(0, "127.0.0.1", done); });
const through = `ws://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
const cut = (): void => { for (const s of open) s.destroy(); };
const text = (b: Uint8Array): string => new TextDecoder().decode(b);

/* What the schema refuses. */
assert(!isRequest({ id: 1, method: "fs/readFile", params: { path: "/a" } }));
assert(!isRequest({ id: 1, method: "process/start", params: {} }));
assert(!isRequest({ id: 1, method: "no/such" }));

const told: Status[] = [];
const c = await Client.connect(through, { onMessage,
	onStatus: (status) => { told.push(status); } });
assert.equal(told.shift(), "connected");

let r = await c.run(["sh", "-c", "echo out; echo err >&2; exit 3"]);
assert.deepEqual([r.exitCode, text(r.stdout), text(r.stderr)],
	[3, "out\n", "err\n"]);
r = await c.run(["sh", "-c", "echo $A; pwd"],
	{ env: { A: "b" }, cwd: "/" });
assert.equal(text(r.stdout), "b\n/\n");
const many = await Promise.all([...Array(8).keys()].map(
	(n) => c.run(["sh", "-c", `exit ${n}`])));
assert.deepEqual(many.map((m) => m.exitCode), [0, 1, 2, 3, 4, 5, 6, 7]);
await assert.rejects(c.run(["/nonexistent/x"]), ServerError);
await assert.rejects(c.run(["true"], { cwd: "relative" }), TypeError);

const path = `${process.env.TMPDIR ?? "/tmp"}/a b%-${kind}`;
const bytes = Uint8Array.from({ length: 100_000 }, (_, i) => i * 7 & 255);
await c.writeFile(path, bytes);
assert.deepEqual(await c.readFile(path), bytes);
await c.writeFile(path, "h\u00e9");
assert.equal(text(await c.readFile(path)), "h\u00e9");
const where = "file://" + path.replace("%", "%25").replace(" ", "%20");
assert.equal((await c.call("fs/getMetadata", { path: where })).size, 3);
await c.call("fs/remove", { path: where, recursive: false, force: false });

let p = await c.start(["sh", "-c", "read a; echo got $a"],
	{ pipeStdin: true });
let out = "";
p.onOutput = (_, data) => { out += text(data); };
await p.write("one\n");
assert.equal(await p.closed, 0);
assert.equal(out, "got one\n");
p = await c.start(["sleep", "900"]);
await p.kill();
assert.equal(await p.closed, 137);

/* Cut again and again: every line once. */
p = await c.start(["sh", "-c", "i=0; while [ $i -lt 600 ]; do echo $i; " +
	"i=$((i + 1)); [ $((i % 20)) != 0 ] || sleep 0.1; done; exit 5"]);
out = "";
let cuts = 0;
p.onOutput = (_, data) => {
	out += text(data);
	if (cuts < 3 && out.length > 500 * (cuts + 1)) {
		cuts++;
		cut();
	}
};
assert.equal(await p.closed, 5);
assert.equal(out, [...Array(600).keys()].join("\n") + "\n");
assert(cuts === 3 && told.includes("recovering"), `${cuts} ${told}`);
assert.equal(c.status, "connected");
/* One that is safe goes on the next connection, of others nobody knows. */
cut();
assert.equal((await c.call("environment/info", {})).shell !== undefined, true);

if (isOurs) {
	p = await c.start(["cat"], { pipeStdin: true });
	await p.closeStdin();
	assert.equal(await p.closed, 0);
	p = await c.start(["sh", "-c", "trap 'exit 9' USR1; echo on; " +
		"while :; do sleep 0.1; done"]);
	await new Promise<void>((on) => { p.onOutput = () => on(); });
	await p.signal("SIGUSR1");
	assert.equal(await p.closed, 9);
}

p = await c.start(["sleep", "900"]);
proxy.close();
c.close();
await assert.rejects(p.closed, LostError);
await assert.rejects(c.call("environment/info", {}), LostError);
await assert.rejects(Client.connect("ws://127.0.0.1:1"), LostError);
assert.equal(c.status, "failed");
console.log(`${checked} requests checked`);
