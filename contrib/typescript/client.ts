/**
 * A client of exec servers over WebSocket: the browser's, or that of the package
 * ws.  A connection that breaks is made again and the session resumed; processes
 * go on, and no byte of output is lost or repeated.
 */
import type { Methods, ProcessStartParams, SignalName } from "./protocol.js";

export * from "./protocol.js";

export interface Options {
	clientName?: string;
	/** Sent as "Authorization: Bearer", which browsers cannot. */
	token?: string;
	/** How long to try to reconnect; 0: never. */
	recoverMs?: number;
	openMs?: number;
	/** Sees each message, for traces. */
	onMessage?: (isSent: boolean, text: string) => void;
	onStatus?: (status: Status, why?: Error) => void;
}

export type Status = "connected" | "recovering" | "ending" | "failed";
export type Stream = "stdout" | "stderr" | "pty";

/** The server's answer to a request. */
export class ServerError extends Error {
	constructor(readonly code: number, message: string) {
		super(message);
	}
}

/** The connection is lost for good, or was before a request was answered. */
export class LostError extends Error {}

type Json = Record<string, unknown>;

/** What WebSockets of browsers and of ws have in common. */
interface Socket {
	send(text: string): void;
	close(): void;
	onopen: ((e: never) => void) | null;
	onclose: ((e: never) => void) | null;
	onerror: ((e: never) => void) | null;
	onmessage: ((e: never) => void) | null;
}

async function openSocket(url: string, o: Options): Promise<Socket> {
	const node = typeof process !== "undefined" && process.versions?.node;
	const socket = node
		? new (await import("ws")).WebSocket(url, {
			headers: o.token === undefined ? {} :
				{ Authorization: `Bearer ${o.token}` },
			maxPayload: 64 << 20, perMessageDeflate: false,
		}) as unknown as Socket
		: new WebSocket(url) as unknown as Socket;
	return new Promise((resolve, reject) => {
		const timer = setTimeout(() => {
			reject(new LostError(`${url}: timed out`));
			socket.close();
		}, o.openMs ?? 10_000);
		socket.onopen = () => {
			clearTimeout(timer);
			resolve(socket);
		};
		socket.onerror = (e: { message?: string }) => {
			clearTimeout(timer);
			reject(new LostError(e.message || `${url}: cannot connect`));
		};
	});
}

export function toBase64(data: Uint8Array): string {
	let text = "";
	for (let at = 0; at < data.length; at += 0x8000)
		text += String.fromCharCode(...data.subarray(at, at + 0x8000));
	return btoa(text);
}

export function fromBase64(text: string): Uint8Array {
	return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}

/** An absolute path as the protocol has it. */
export function toUri(path: string): string {
	if (!path.startsWith("/"))
		throw new TypeError(`the path is not absolute: ${path}`);
	return "file://" + path.split("/").map(encodeURIComponent).join("/");
}

export type StartOptions = Partial<ProcessStartParams> & { cwd?: string };

export interface Result {
	exitCode: number;
	stdout: Uint8Array;
	stderr: Uint8Array;
}

interface Pending {
	text: string;
	isSafe: boolean;
	resolve: (result: never) => void;
	reject: (e: Error) => void;
}

/** Requests that change nothing are sent again on the next connection. */
const SAFE = /^(environment|fs\/(canonicalize|getMetadata|read(Directory|File)|walk)|process\/(list|read))/;

export class Client {
	readonly #url: string;
	readonly #options: Options;
	#socket: Socket | undefined;
	#session = "";
	#capabilities: Json = {};
	#cwd = "/";
	#lastId = 0;
	#status: Status = "recovering";
	readonly #pending = new Map<number, Pending>();
	readonly #processes = new Map<string, Process>();

	private constructor(url: string, options: Options) {
		this.#url = url;
		this.#options = options;
	}

	/** Open a session. */
	static async connect(url: string, options: Options = {}): Promise<Client> {
		const client = new Client(url, options);
		await client.#open();
		return client;
	}

	get status(): Status { return this.#status; }
	get session(): string { return this.#session; }
	can(capability: string): boolean {
		return this.#capabilities[capability] === true;
	}

	#tell(status: Status, why?: Error): void {
		if (status === this.#status)
			return;
		this.#status = status;
		this.#options.onStatus?.(status, why);
	}

	async #open(): Promise<void> {
		const socket = await openSocket(this.#url, this.#options);
		this.#socket = socket;
		socket.onmessage = (e: { data: string }) => this.#take(String(e.data));
		socket.onclose = socket.onerror = () => this.#lost(socket);
		const r = await this.#request("initialize", {
			clientName: this.#options.clientName ?? "typescript",
			...(this.#session ? { resumeSessionId: this.#session } : {}),
		}) as Json & { sessionId: string };
		this.#session = r.sessionId;
		const info = (r.environmentInfo ?? {}) as Json;
		this.#capabilities = (info.capabilities ?? {}) as Json;
		if (typeof info.cwd === "string")
			this.#cwd = decodeURIComponent(info.cwd.slice("file://".length));
		this.#post({ method: "initialized" });
		for (const p of this.#processes.values())
			await p.catchUp();
		for (const [id, q] of this.#pending)
			this.#post({ id, ...JSON.parse(q.text) });
		this.#tell("connected");
	}

	/** Requests that changed something end; the session is resumed. */
	#lost(socket: Socket): void {
		if (socket !== this.#socket)
			return;
		this.#socket = undefined;
		const why = new LostError("the connection was lost");
		for (const [id, q] of this.#pending)
			if (!q.isSafe || this.#status === "ending" || !this.#session) {
				this.#pending.delete(id);
				q.reject(why);
			}
		const limit = this.#options.recoverMs ?? 25_000;
		if (this.#status === "connected" && limit > 0)
			void this.#recover(Date.now() + limit, why);
		else if (this.#status !== "recovering")
			this.#fail(why);
	}

	async #recover(until: number, why: Error): Promise<void> {
		this.#tell("recovering", why);
		for (let pause = 100; ; pause = Math.min(2 * pause, 1000)) {
			try {
				return await this.#open();
			} catch (e) {
				const socket = this.#socket;
				this.#socket = undefined;
				socket?.close();
				/* -32010: it has not missed the old connection yet. */
				if ((e instanceof ServerError && e.code !== -32010) ||
				    Date.now() + pause > until)
					return this.#fail(e as Error);
			}
			await new Promise((resolve) => setTimeout(resolve, pause));
		}
	}

	#fail(why: Error): void {
		this.#tell("failed", why);
		for (const q of this.#pending.values())
			q.reject(why);
		this.#pending.clear();
		for (const p of this.#processes.values())
			p.end(why);
		this.#processes.clear();
	}

	/** Close the connection; the server ends the session after a while. */
	close(): void {
		const socket = this.#socket;
		this.#socket = undefined;
		socket?.close();
		this.#fail(new LostError("the client was closed"));
	}

	#post(message: Json): void {
		const text = JSON.stringify(message);
		this.#options.onMessage?.(true, text);
		this.#socket?.send(text);
	}

	#request(method: string, params: unknown): Promise<unknown> {
		return new Promise((resolve, reject) => {
			const id = ++this.#lastId;
			const isOwn = method === "initialize" || method === "process/read";
			this.#pending.set(id, { text: JSON.stringify({ method, params }),
				isSafe: SAFE.test(method) && !isOwn,
				resolve: resolve as (r: never) => void, reject });
			if (this.#socket && (isOwn || this.#status !== "recovering"))
				this.#post({ id, method, params });
		});
	}

	/** Send a request of any method. */
	call<M extends keyof Methods>(method: M, params: Methods[M]["params"]):
	    Promise<Methods[M]["result"]> {
		if (this.#status === "failed")
			return Promise.reject(new LostError("the connection has failed"));
		return this.#request(method, params) as
		    Promise<Methods[M]["result"]>;
	}

	#take(text: string): void {
		this.#options.onMessage?.(false, text);
		const m = JSON.parse(text) as Json & { params?: Json };
		if (typeof m.method === "string") {
			const p = this.#processes.get(String(m.params?.processId));
			if (m.method === "session/ending")
				this.#tell("ending");
			else if (p !== undefined && m.params !== undefined)
				p.event(m.method, m.params);
			return;
		}
		const q = this.#pending.get(m.id as number);
		if (q === undefined)
			return;
		this.#pending.delete(m.id as number);
		const e = m.error as { code: number; message: string } | undefined;
		if (e !== undefined)
			q.reject(new ServerError(e.code, e.message));
		else
			q.resolve(m.result as never);
	}

	/** Start a process; rejected if it cannot run. */
	async start(argv: string[], options: StartOptions = {}): Promise<Process> {
		const p = new Process(this, `p${++this.#lastId}`);
		this.#processes.set(p.id, p);
		void p.closed.catch(() => undefined).finally(
			() => this.#processes.delete(p.id));
		try {
			await this.call("process/start", {
				env: {}, tty: false, pipeStdin: false, arg0: null,
				...(options.env ? {} : { envPolicy: { inherit: "all",
					ignoreDefaultExcludes: true, exclude: [], set: {},
					includeOnly: [] } }),
				...options, argv, processId: p.id,
				cwd: toUri(options.cwd ?? this.#cwd),
			});
		} catch (e) {
			this.#processes.delete(p.id);
			throw e;
		}
		return p;
	}

	/** Run a command to its end. */
	async run(argv: string[], options: StartOptions = {}): Promise<Result> {
		const p = await this.start(argv, options);
		const parts: Record<Stream, Uint8Array[]> =
			{ stdout: [], stderr: [], pty: [] };
		p.onOutput = (stream, data) => parts[stream].push(data);
		const exitCode = await p.closed;
		return { exitCode, stdout: concat([...parts.stdout, ...parts.pty]),
			stderr: concat(parts.stderr) };
	}

	async readFile(path: string): Promise<Uint8Array> {
		const r = await this.call("fs/readFile", { path: toUri(path) });
		return fromBase64(r.dataBase64);
	}

	async writeFile(path: string, data: Uint8Array | string): Promise<void> {
		const bytes = typeof data === "string" ?
			new TextEncoder().encode(data) : data;
		await this.call("fs/writeFile",
			{ path: toUri(path), dataBase64: toBase64(bytes) });
	}
}

export function concat(parts: Uint8Array[]): Uint8Array {
	const all = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
	let at = 0;
	for (const p of parts) {
		all.set(p, at);
		at += p.length;
	}
	return all;
}

/** A process of a session. */
export class Process {
	/** Output in its order; what comes before this is set is kept. */
	#onOutput: ((stream: Stream, data: Uint8Array) => void) | undefined;
	readonly #early: [Stream, Uint8Array][] = [];
	readonly #ahead = new Map<number, [string, Json]>();
	#nextSeq = 1;
	#exitCode = -1;
	#writes = 0;
	#resolve!: (code: number) => void;
	#reject!: (e: Error) => void;
	/** The exit code (128 + N after signal N), after all output. */
	readonly closed: Promise<number>;

	constructor(readonly client: Client, readonly id: string) {
		this.closed = new Promise((resolve, reject) => {
			this.#resolve = resolve;
			this.#reject = reject;
		});
	}

	set onOutput(fn: (stream: Stream, data: Uint8Array) => void) {
		this.#onOutput = fn;
		for (const [stream, data] of this.#early.splice(0))
			fn(stream, data);
	}

	/** Write to its standard input (pipeStdin or tty). */
	async write(data: Uint8Array | string): Promise<void> {
		const bytes = typeof data === "string" ?
			new TextEncoder().encode(data) : data;
		for (let at = 0; at < bytes.length; at += 65536) {
			const r = await this.client.call("process/write", {
				processId: this.id, writeId: `w${++this.#writes}`,
				chunk: toBase64(bytes.subarray(at, at + 65536)) });
			if (r.status !== "accepted")
				throw new ServerError(0, r.status);
		}
	}

	/** Needs the capability execsrvProcessCloseStdin. */
	async closeStdin(): Promise<void> {
		await this.client.call("process/closeStdin", { processId: this.id });
	}

	async signal(signal: SignalName): Promise<void> {
		await this.client.call("process/signal",
			{ processId: this.id, signal });
	}

	async kill(): Promise<void> {
		await this.client.call("process/terminate", { processId: this.id });
	}

	end(why: Error): void {
		this.#reject(why);
	}

	/** Events are numbered: in order, each once. */
	event(method: string, params: Json): void {
		const seq = params.seq as number;
		if (seq < this.#nextSeq)
			return;
		this.#ahead.set(seq, [method, params]);
		for (let e; (e = this.#ahead.get(this.#nextSeq)) !== undefined;) {
			this.#ahead.delete(this.#nextSeq++);
			this.#deliver(...e);
		}
	}

	#deliver(method: string, params: Json): void {
		if (method === "process/output") {
			const stream = params.stream as Stream;
			const data = fromBase64(params.chunk as string);
			if (this.#onOutput)
				this.#onOutput(stream, data);
			else
				this.#early.push([stream, data]);
		} else if (method === "process/exited") {
			this.#exitCode = params.exitCode as number;
		} else if (method === "process/closed") {
			this.#resolve(this.#exitCode);
		}
	}

	/** After a resume: read what was missed. */
	async catchUp(): Promise<void> {
		for (;;) {
			const r = await this.client.call("process/read", {
				processId: this.id, afterSeq: this.#nextSeq - 1 });
			for (const c of r.chunks)
				this.event("process/output", c as unknown as Json);
			const ends = Number(r.exited) + Number(r.closed);
			if (r.chunks.length === 0 && this.#nextSeq < r.nextSeq - ends)
				throw new LostError("output was lost");
			if (this.#nextSeq < r.nextSeq - ends)
				continue;
			if (r.exited)
				this.event("process/exited", { seq: r.nextSeq - ends,
					exitCode: r.exitCode });
			if (r.closed)
				this.event("process/closed", { seq: r.nextSeq - 1 });
			return;
		}
	}
}
