/** What a pattern can do, and the record of what it got. */
import { setTimeout as wait } from "node:timers/promises";
import { Connection } from "./connection.ts";

/** What the attackers know: the address, and credentials that run models and change nothing. */
export interface Target {
	port: number;
	/** `roomToken` also writes vectors and AI Search. */
	accounts: readonly { id: string; token: string; roomToken: string }[];
	/** Of the first account. Its budget is some requests. */
	poorToken: string;
	/** Of the first account. Its budget pays for no request. */
	emptyToken: string;
	revokedToken: string;
}

/** Gateways of each hostile account. */
export const GATEWAYS = ["plain", "cached", "guarded", "searched"] as const;
/** More gateways of each account, `many-0` to `many-59`. */
export const MANY_GATEWAYS = 60;
/** Vector indexes of each hostile account, `hostile-0` to `hostile-2`. Some patterns delete them, and create them again. */
export const INDEXES = 3;
/** Dimensions of their vectors. */
export const DIMENSIONS = 32;
/** Instances of AI Search of each hostile account, `hostile-0` and `hostile-1`, likewise. */
export const INSTANCES = 2;

/** The settings of a vector index. */
export const indexSettings = (number: number): object => ({
	name: `hostile-${number % INDEXES}`,
	config: { dimensions: DIMENSIONS, metric: "cosine" },
});

/** The settings of an instance of AI Search. */
export const instanceSettings = (number: number): object => ({
	id: `hostile-${number % INSTANCES}`,
	embedding_model: "hostile/embed",
});

export interface Pattern {
	name: string;
	/** `stranger`: without a valid token. `token`: with a token that only runs models. */
	by: "stranger" | "token";
	/** Each attempt is refused, so its disk is counted. */
	isRefused?: true;
	/** One attempt. It is repeated until the attack ends. */
	attempt(attacker: Attacker): Promise<void>;
}

export interface AskOptions {
	method?: string;
	body?: unknown;
	headers?: Readonly<Record<string, string>>;
	/** Leaves after this time, whatever has arrived. */
	leaveMs?: number;
	/** Reads nothing of the answer. */
	unread?: boolean;
	token?: string | undefined;
}

/** Attackers share so many addresses. */
const ADDRESSES = 16;
/** A refused or answered attempt is complete after this time; a silent gateway is left. */
const PATIENCE_MS = 30_000;

/** Receives what happens to the connections of an attacker. */
interface ConnectionRecord {
	opened(): void;
	ended(result: string): void;
}

export class Attacker {
	readonly target: Target;
	readonly signal: AbortSignal;
	readonly account: string;
	readonly token: string;
	readonly roomToken: string;
	/** A number that no other attempt has. */
	number = 0;
	readonly #record: ConnectionRecord;
	readonly #open: Connection[] = [];
	readonly #first: number;

	constructor(target: Target, first: number, signal: AbortSignal, record: ConnectionRecord) {
		this.target = target;
		this.signal = signal;
		this.#record = record;
		this.#first = first;
		const account = target.accounts[first % target.accounts.length];
		this.account = account?.id ?? "";
		this.token = account?.token ?? "";
		this.roomToken = account?.roomToken ?? "";
	}

	/** One attempt of the pattern, with the record of its connections. */
	async attempt({ attempt }: Pattern): Promise<void> {
		this.number = this.#first * 100_000 + (this.number % 100_000) + 1;
		await attempt(this);
		for (const connection of this.#open.splice(0)) {
			connection.leave();
			this.#record.ended(connection.result);
		}
	}

	async connect(bytes: string | Uint8Array = ""): Promise<Connection> {
		const connection = await Connection.open(this.target.port, `127.0.1.${1 + (this.#first % ADDRESSES)}`);
		if (connection.isOpen) this.#record.opened();
		this.#open.push(connection);
		if (bytes.length > 0) await connection.write(bytes, this.signal);
		return connection;
	}

	/** Sends a complete request, and waits for the end of the answer. */
	async ask(path: string, options: AskOptions = {}): Promise<Connection> {
		const { leaveMs, unread = false } = options;
		const connection = await this.connect();
		if (unread) connection.socket.pause();
		await connection.write(this.request(path, options), this.signal);
		await Promise.race([connection.closed, this.hold(leaveMs ?? PATIENCE_MS)]);
		return connection;
	}

	/** The bytes of a request. The gateway closes the connection after its answer. */
	request(path: string, { method, body, headers = {}, token = this.token }: AskOptions = {}): Uint8Array {
		const bytes =
			body === undefined
				? Buffer.alloc(0)
				: Buffer.from(
						typeof body === "string" || body instanceof Uint8Array ? (body as string) : JSON.stringify(body),
					);
		const fields = {
			"content-type": "application/json",
			connection: "close",
			...headers,
			...(body !== undefined && { "content-length": String(bytes.length) }),
		};
		return Buffer.concat([
			Buffer.from(
				this.head(path, { method: method ?? (body === undefined ? "GET" : "POST"), headers: fields, token }),
			),
			bytes,
		]);
	}

	/** The request line and the header. */
	head(
		path: string,
		{ method = "POST", headers = {}, token = this.token }: Omit<AskOptions, "body"> = {},
	): string {
		const fields = { host: "gateway", ...(token && { authorization: `Bearer ${token}` }), ...headers };
		const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
		return `${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`;
	}

	/** Opens a websocket, and waits for its first answer. */
	async webSocket(path: string, token = this.token): Promise<Connection> {
		const connection = await this.connect(
			this.head(path, {
				method: "GET",
				token,
				headers: {
					connection: "upgrade",
					upgrade: "websocket",
					"sec-websocket-version": "13",
					"sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
				},
			}),
		);
		await connection.until(/\r\n\r\n/, PATIENCE_MS);
		return connection;
	}

	/** Writes a piece each `everyMs` until the other side closes, or `milliseconds` have passed. */
	async drip(connection: Connection, piece: string, everyMs: number, milliseconds: number): Promise<void> {
		const until = performance.now() + milliseconds;
		while (connection.isOpen && !this.signal.aborted && performance.now() < until) {
			await connection.write(piece, this.signal);
			await this.hold(everyMs);
		}
	}

	async hold(milliseconds: number): Promise<void> {
		await wait(milliseconds, undefined, { signal: this.signal }).catch(() => {});
	}
}
