/**
 * The public REST API, as the console uses it. Each request has the token of the session as its bearer header, and nothing
 * else that could authenticate it: no cookies.
 */
import type { Envelope, ResultInfo } from "./types.ts";

/** A refusal of the API, or a failure to reach it (`status` 0). */
export class ApiError extends Error {
	readonly status: number;
	readonly code: number | undefined;

	constructor(status: number, message: string, code?: number) {
		super(message);
		this.status = status;
		this.code = code;
	}
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface Page<T> {
	result: T;
	info: ResultInfo;
}

type Method = "POST" | "PUT" | "PATCH" | "DELETE";

interface Change<T> {
	result: T;
	notes: readonly string[];
}

export interface Credentials {
	/** Absent for a gateway without credentials. */
	token?: string | undefined;
	/** The account in the addresses of {@link Api.account}. */
	account: string;
}

const V4 = "/client/v4";

export class Api {
	readonly credentials: Credentials;
	readonly #onUnauthorized: () => void;

	/** @param onUnauthorized called if the gateway no longer accepts the token. */
	constructor(credentials: Credentials, onUnauthorized: () => void = () => {}) {
		this.credentials = credentials;
		this.#onUnauthorized = onUnauthorized;
	}

	/** A path of the account: `/ai/usage` is `/client/v4/accounts/{account}/ai/usage`. */
	account(path: string): string {
		return `${V4}/accounts/${encodeURIComponent(this.credentials.account)}${path}`;
	}

	async get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<Page<T>> {
		const response = await this.fetch(withQuery(path, query), { signal: signal ?? null });
		const { result, result_info: info = {} } = await answerOf<Envelope<T>>(response, "result");
		return { result, info };
	}

	async send<T>(method: Method, path: string, body?: unknown): Promise<T> {
		return (await this.change<T>(method, path, body)).result;
	}

	/** As {@link Api.send}, with the notes of the answer: what the change does not do. */
	async change<T>(method: Method, path: string, body?: unknown): Promise<Change<T>> {
		const response = await this.fetch(path, jsonRequest(method, body));
		// The answer to a deletion may have no result.
		const field = method === "DELETE" ? "success" : "result";
		const { result, messages = [] } = await answerOf<Envelope<T>>(response, field);
		return { result, notes: messages.map(({ message }) => message) };
	}

	/** Throws an {@link ApiError} for each status that is not a success. */
	async fetch(path: string, init: RequestInit = {}): Promise<Response> {
		const headers = new Headers(init.headers);
		const { token } = this.credentials;
		if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
		let response: Response;
		try {
			response = await fetch(path, { ...init, headers, credentials: "omit" });
		} catch (error) {
			if (init.signal?.aborted) throw error;
			throw new ApiError(0, "The gateway cannot be reached");
		}
		if (response.ok) return response;
		if (response.status === 401) this.#onUnauthorized();
		throw await errorOf(response);
	}
}

/** The body of an answer, as it is read. Throws an {@link ApiError} if it is not complete, or not JSON. */
export async function bodyOf<T>(reading: Promise<T>): Promise<T> {
	try {
		return await reading;
	} catch (error) {
		if (error instanceof DOMException && error.name === "AbortError") throw error;
		if (error instanceof SyntaxError) throw new ApiError(200, "The gateway's answer is not JSON");
		throw new ApiError(0, INTERRUPTED);
	}
}

/** The JSON object of an answer. Throws an {@link ApiError} as {@link bodyOf}, and if the object lacks the field or it is `null`. */
export async function answerOf<T>(response: Response, field: keyof T): Promise<T> {
	const answer = await bodyOf<T | null>(response.json());
	if (answer && (answer[field] ?? null) !== null) return answer;
	const { pathname } = new URL(response.url);
	throw new ApiError(response.status, `The gateway's answer cannot be read (${pathname})`);
}

export const INTERRUPTED = "The connection to the gateway was lost before the answer was complete";

export const jsonRequest = (method: string, body: unknown): RequestInit =>
	body === undefined
		? { method }
		: { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };

export const v4 = (path: string): string => `${V4}${path}`;

/** A model's id in a path: slashes stay. */
export const pathOfModel = (id: string): string => id.split("/").map(encodeURIComponent).join("/");

export function withQuery(path: string, query: Query): string {
	const parameters = new URLSearchParams();
	for (const [name, value] of Object.entries(query))
		if (value !== undefined && value !== "") parameters.set(name, String(value));
	return parameters.size > 0 ? `${path}?${parameters}` : path;
}

async function errorOf(response: Response): Promise<ApiError> {
	const text = await bodyOf(response.text());
	try {
		const { errors }: Partial<Envelope<unknown>> = JSON.parse(text);
		const [first] = errors ?? [];
		if (first) return new ApiError(response.status, first.message, first.code);
	} catch {
		// Not JSON: the status is all that is known.
	}
	return new ApiError(response.status, `The gateway answered ${response.status}`);
}
