/** Calls of an S3-compatible store (https://docs.aws.amazon.com/AmazonS3/latest/API/), signed by `aws4fetch`. */
import { AwsClient } from "aws4fetch";
import { startNativeTimer } from "../../core/lazy-timer.ts";
import { boundedText, unread } from "../../outbound/bounded-text.ts";
import { callOut } from "../../outbound/call-out.ts";
import { STORE_CALL } from "../../outbound/limits.ts";
import type { S3Services, S3Setting } from "./s3-setting.ts";

const TRIES = 3;
const FIRST_RETRY_MS = 200;

/** The message has no text of the store, because it may quote a key. */
export class S3Failure extends Error {
	override readonly name = "S3Failure";
	readonly status: number | undefined;
	/** Such as `AccessDenied`. */
	readonly code: string | undefined;

	constructor(
		call: string,
		host: string,
		{ status, code, cause }: { status?: number; code?: string; cause?: unknown },
	) {
		const answer = status === undefined ? "failed" : `was answered with ${status}${code ? ` ${code}` : ""}`;
		super(`${call} at ${host} (STORAGE.s3) ${answer}`, { cause });
		this.status = status;
		this.code = code;
	}
}

interface S3Call {
	method: "GET" | "PUT" | "POST" | "DELETE";
	/** Of an object. Absent: the bucket. */
	name?: string;
	query?: Record<string, string>;
	headers?: Record<string, string>;
	body?: Uint8Array | string;
	/** Statuses that are no failure, besides 2xx. */
	accepted?: readonly number[];
	/** A second call would leave something behind if the first one was executed. It is made only after a refusal. */
	once?: true;
}

/** The store has not executed the call. */
const REFUSALS: ReadonlySet<number | undefined> = new Set([429, 503]);

export class S3Client {
	readonly #setting: S3Setting;
	readonly #services: S3Services;
	readonly #aws: AwsClient;

	constructor(setting: S3Setting, services: S3Services) {
		this.#setting = setting;
		this.#services = services;
		const { accessKeyId, secretAccessKey, region } = setting;
		this.#aws = new AwsClient({ accessKeyId, secretAccessKey, region, service: "s3" });
	}

	/** Throws an {@link S3Failure}. The body of the answer has no time limit. */
	call(call: S3Call): Promise<Response> {
		return this.#repeat(call, async (response) => response);
	}

	/** The text of a small answer. `undefined`: its status is one of `accepted`. */
	text(call: S3Call): Promise<string | undefined> {
		return this.#repeat(call, async (response) => {
			if (!response.ok) return unread(response.body);
			const text = await boundedText(response.body, STORE_CALL.textBytes);
			if (text !== undefined) return text;
			// A further call would read as much. With its status, the failure is final.
			const cause = new Error(`The answer is longer than ${STORE_CALL.textBytes} bytes`);
			throw new S3Failure(call.method, this.#url(call.name).host, { status: response.status, cause });
		});
	}

	async #repeat<T>(call: S3Call, read: (response: Response) => Promise<T>): Promise<T> {
		for (let tries = 1; ; tries++) {
			try {
				return await this.#attempt(call, read);
			} catch (error) {
				const { status } = error as S3Failure;
				const isFinal = status !== undefined && status < 500 && status !== 429;
				if (tries === TRIES || isFinal || (call.once && !REFUSALS.has(status))) throw error;
				await this.#services.wait(FIRST_RETRY_MS * 2 ** (tries - 1));
			}
		}
	}

	async #attempt<T>(
		{ method, name, query, headers, body, accepted = [] }: S3Call,
		read: (response: Response) => Promise<T>,
	): Promise<T> {
		const url = this.#url(name, query);
		const abort = new AbortController();
		const timer = startNativeTimer(STORE_CALL.silentMs, () =>
			abort.abort(new Error("The store does not answer")),
		);
		const host = url.host;
		try {
			const request = await this.#aws.sign(url, {
				method,
				...(headers && { headers }),
				...(body !== undefined && { body }),
			});
			// The runtime's fetch refuses another `this`.
			const { fetch } = this.#services;
			const { signal } = abort;
			const response = await callOut({
				fetch,
				url: request.url,
				method,
				headers: request.headers,
				body,
				signal,
			});
			if (response.ok || accepted.includes(response.status)) return await read(response);
			throw new S3Failure(method, host, { status: response.status, ...(await codeOf(response)) });
		} catch (cause) {
			throw cause instanceof S3Failure ? cause : new S3Failure(method, host, { cause });
		} finally {
			timer.cancel();
		}
	}

	#url(name: string | undefined, query: Record<string, string> = {}): URL {
		const { endpoint, bucket, prefix, pathStyle } = this.#setting;
		const url = new URL(endpoint);
		if (!pathStyle) url.host = `${bucket}.${url.host}`;
		const path = [url.pathname.replace(/\/$/, ""), ...(pathStyle ? [bucket] : [])].join("/");
		url.pathname = name === undefined ? `${path}/` : `${path}/${encodeName(prefix + name)}`;
		for (const [key, value] of Object.entries(query)) url.searchParams.set(key, value);
		return url;
	}
}

const encodeName = (name: string): string => name.split("/").map(encodeURIComponent).join("/");

async function codeOf(response: Response): Promise<{ code?: string }> {
	const text = await boundedText(response.body, STORE_CALL.refusalBytes).catch(() => undefined);
	const code = /<Code>(\w{1,64})<\/Code>/.exec(text ?? "")?.[1];
	return code === undefined ? {} : { code };
}
