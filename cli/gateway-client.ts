/** Requests to a running gateway, as a caller of its HTTP API. */
import * as z from "zod";
import { codeOf } from "../scripts/file-failure.ts";

export const DEFAULT_URL = "http://localhost:8787";
const DEFAULT_ACCOUNT = "local";

export interface ConnectionFlags {
	url?: string;
	account?: string;
	json?: boolean;
}

/** A failure for the user, without a stack. */
export class CommandError extends Error {}

/** The end of base addresses for SDKs. Another path is that of a proxy before the gateway. */
const API_PATH = /\/(?:client\/v4|v1)(?:\/|$)/;

const Failure = z.object({
	errors: z.array(z.object({ code: z.number().optional(), message: z.string() })).min(1),
});
const OpenAiFailure = z.object({ error: z.object({ message: z.string() }) });
const Envelope = z.object({ result: z.unknown(), result_info: z.unknown().optional() });

export class GatewayClient {
	readonly url: string;
	readonly account: string;
	readonly #token: string | undefined;
	get hasToken(): boolean {
		return this.#token !== undefined;
	}

	/** The token comes from `GANGLION_TOKEN` only: other users of the machine can read the arguments of a process. */
	constructor({ url, account }: ConnectionFlags, env: NodeJS.ProcessEnv = process.env) {
		this.url = (url ?? (env.GANGLION_URL || DEFAULT_URL)).replace(/\/+$/, "");
		if (!/^https?:\/\/[^/]/.test(this.url))
			throw new CommandError(
				`the address of the gateway (--url or GANGLION_URL): expected one such as ${DEFAULT_URL}, found ${JSON.stringify(this.url)}`,
			);
		if (API_PATH.test(this.url))
			throw new CommandError(
				`the address of the gateway (--url or GANGLION_URL): expected one without the path of an API, such as ${DEFAULT_URL}, found ${JSON.stringify(this.url)}`,
			);
		this.account = account ?? (env.GANGLION_ACCOUNT || DEFAULT_ACCOUNT);
		this.#token = env.GANGLION_TOKEN || undefined;
	}

	/** The result of a v4 route of the account, parsed by `schema`. `path`: below `/client/v4/accounts/{account}`. */
	async result<T>(path: string, schema: z.ZodType<T>, options: RequestOptions = {}): Promise<T> {
		return (await this.envelope(path, z.object({ result: schema }), options)).result;
	}

	/** The complete reply of a v4 route. */
	async envelope<T>(path: string, schema: z.ZodType<T>, options: RequestOptions = {}): Promise<T> {
		return this.#parsed(await this.send(path, options), schema);
	}

	/** The complete reply of a v4 route of the operator. `path`: below `/client/v4`. */
	async operatorEnvelope<T>(path: string, schema: z.ZodType<T>): Promise<T> {
		return this.#parsed(await this.#send(`/client/v4${path}`, {}), schema);
	}

	async #parsed<T>(response: Response, schema: z.ZodType<T>): Promise<T> {
		const reply: unknown = await response.json().catch(() => undefined);
		const { error, data } = schema.safeParse(Envelope.safeParse(reply).success ? reply : undefined);
		if (error) throw new CommandError(`${this.url} is not a gateway, or has another version`);
		return data;
	}

	/** Throws a `CommandError` unless the status is successful. */
	send(path: string, options: RequestOptions = {}): Promise<Response> {
		return this.#send(`/client/v4/accounts/${encodeURIComponent(this.account)}${path}`, options);
	}

	async #send(path: string, { method = "GET", body, form }: RequestOptions): Promise<Response> {
		const response = await fetch(`${this.url}${path}`, {
			method,
			headers: {
				...(body !== undefined && { "content-type": "application/json" }),
				...(this.#token !== undefined && { authorization: `Bearer ${this.#token}` }),
			},
			...(body !== undefined && { body: JSON.stringify(body) }),
			...(form && { body: form }),
		}).catch((error: unknown) => {
			throw new CommandError(`no gateway answers on ${this.url}: ${reasonOf(error)}
Start one (npx ganglion dev), or set --url or GANGLION_URL.`);
		});
		if (!response.ok) throw await failureOf(response, this);
		return response;
	}
}

interface RequestOptions {
	method?: string | undefined;
	/** JSON. */
	body?: unknown;
	form?: FormData;
}

/** The result of a call, or `otherwise` if the gateway refuses it to the token of this command. */
export async function ifAllowed<Result, Other>(
	call: Promise<Result>,
	otherwise: Other,
): Promise<Result | Other> {
	try {
		return await call;
	} catch (error) {
		if (error instanceof CommandError) return otherwise;
		throw error;
	}
}

function reasonOf(error: unknown): string {
	const { cause = error } = error instanceof Error ? error : {};
	return codeOf(cause) || (cause instanceof Error ? cause.message : String(cause));
}

const UNAUTHORIZED = 401;
const FORBIDDEN = 403;

/** Names the token to change, by its variable: its value is a secret. */
function tokenHint(status: number, { account, hasToken, url }: GatewayClient): string {
	if (status === UNAUTHORIZED)
		return hasToken
			? `\nGANGLION_TOKEN is no token of account ${account} on ${url}. Set it to one, or name the account with --account or GANGLION_ACCOUNT.`
			: "\nSet GANGLION_TOKEN to a token of the account.";
	return status === FORBIDDEN && hasToken ? "\nThe token is that of GANGLION_TOKEN." : "";
}

async function failureOf(response: Response, client: GatewayClient): Promise<CommandError> {
	const text = await response.text();
	const { status } = response;
	const message = messageIn(text) ?? "the gateway refused the request";
	return new CommandError(`${message} (HTTP ${status})${tokenHint(status, client)}`);
}

function messageIn(text: string): string | undefined {
	let reply: unknown;
	try {
		reply = JSON.parse(text);
	} catch {
		return undefined;
	}
	const { data: v4 } = Failure.safeParse(reply);
	if (v4)
		return v4.errors.map(({ code, message }) => (code ? `${message} [code: ${code}]` : message)).join("\n");
	return OpenAiFailure.safeParse(reply).data?.error.message;
}

/** `""` or `?a=b`, without the parameters that are absent. */
export function queryText(parameters: Readonly<Record<string, string | undefined>>): string {
	const set = Object.entries(parameters).filter((pair): pair is [string, string] => pair[1] !== undefined);
	const text = new URLSearchParams(set).toString();
	return text && `?${text}`;
}
