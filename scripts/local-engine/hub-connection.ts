/**
 * Requests of one hub. A redirect must stay encrypted, only the hub itself gets the token, and a hub that is silent is left.
 */
import { LocalProblem } from "./problem.ts";
import { HUB_SETTING, unavailable } from "./source.ts";

const TOKEN_SETTING = "HF_TOKEN";
/** Until an answer, and between two pieces of it. */
const SILENT_MS = 8_000;
const MAX_REDIRECTS = 5;
/** The file ends before the range. Ranges are within the size that the list states. */
const OUT_OF_RANGE = 416;
/** A longer wait is not written. */
const MAX_RETRY_SECONDS = 86_400;

type Environment = Readonly<Record<string, string | undefined>>;

export interface ConnectionOptions {
	fetch?: typeof fetch;
	silentMs?: number;
}

/** Node 20 has no `URL.parse`. */
export const addressIn = (text: string, base?: string): URL | undefined =>
	URL.canParse(text, base) ? new URL(text, base) : undefined;

export class HubConnection {
	readonly host: string;
	readonly #base: string;
	readonly #origin: string;
	readonly #token: string | undefined;
	readonly #fetch: typeof fetch;
	readonly #silentMs: number;

	constructor(url: URL, env: Environment, options: ConnectionOptions) {
		this.host = url.host;
		this.#base = url.href.replace(/\/+$/, "");
		this.#origin = url.origin;
		this.#token = env[TOKEN_SETTING];
		this.#fetch = options.fetch ?? fetch;
		this.#silentMs = options.silentMs ?? SILENT_MS;
	}

	/** Follows redirects. Throws a problem for each other answer that is not the file. */
	async get(
		path: string,
		file: string,
		headers: Record<string, string>,
		abort: AbortController,
	): Promise<Response> {
		let url = this.#base + path;
		for (let count = 0; count <= MAX_REDIRECTS; count++) {
			const isHub = new URL(url).origin === this.#origin;
			const token: Record<string, string> =
				isHub && this.#token ? { authorization: `Bearer ${this.#token}` } : {};
			const response = await this.#send(url, file, { ...headers, ...token }, abort);
			if (response.status === 200 || response.status === 206) return response;
			void response.body?.cancel().catch(() => {});
			if (response.status < 300 || response.status >= 400) throw this.#refusal(response, file);
			const next = addressIn(response.headers.get("location") ?? "", url);
			const flaw = flawOf(next, this.#origin);
			if (!next || flaw !== undefined)
				throw unavailable(`The hub ${this.host} redirects ${file} to ${flaw}. ${CHOICES}`);
			url = next.href;
		}
		throw unavailable(`The hub ${this.host} redirects ${file} too often. ${CHOICES}`);
	}

	async #send(
		url: string,
		file: string,
		headers: Record<string, string>,
		abort: AbortController,
	): Promise<Response> {
		const { host } = new URL(url);
		const silence = setTimeout(() => abort.abort(SILENCE), this.#silentMs);
		try {
			return await this.#fetch(url, { headers, redirect: "manual", signal: abort.signal });
		} catch (error) {
			throw this.#unreachable(host, file, error, abort);
		} finally {
			clearTimeout(silence);
		}
	}

	#unreachable(host: string, file: string, error: unknown, abort: AbortController): unknown {
		if (abort.signal.aborted && abort.signal.reason !== SILENCE) return error;
		const reason =
			abort.signal.reason === SILENCE
				? `was silent for ${this.#silentMs / 1_000} s`
				: `cannot be reached (${causeOf(error)})`;
		return unavailable(`${host} ${reason}, so ${file} is missing. ${CHOICES}`, error);
	}

	#refusal(response: Response, file: string): LocalProblem {
		const { status, headers } = response;
		const isGated = status === 401 || status === 403;
		if (isGated)
			return unavailable(
				`The hub ${this.host} gives ${file} only to accounts that may read it (HTTP ${status}): set ${TOKEN_SETTING} to a token of yours. ${CHOICES}`,
			);
		if (status === OUT_OF_RANGE)
			return new LocalProblem(
				"weights_unreadable",
				`The hub ${this.host} has fewer bytes of ${file} than its list states, so it is another file. Use another source (${HUB_SETTING})`,
			);
		const seconds = Number(headers.get("retry-after"));
		const wait =
			status === 429 && seconds > 0 && seconds <= MAX_RETRY_SECONDS
				? ` Try again in ${Math.ceil(seconds)} s.`
				: "";
		return unavailable(`The hub ${this.host} refused ${file} with HTTP ${status}.${wait} ${CHOICES}`);
	}

	async *pieces(response: Response, file: string, abort: AbortController): AsyncGenerator<Uint8Array> {
		if (!response.body) return;
		const { host } = new URL(response.url || this.#base);
		let silence: NodeJS.Timeout | undefined;
		const wait = (): void => {
			clearTimeout(silence);
			silence = setTimeout(() => abort.abort(SILENCE), this.#silentMs);
		};
		try {
			wait();
			for await (const piece of response.body) {
				// A slow disk is no silence of the hub.
				clearTimeout(silence);
				yield piece;
				wait();
			}
		} catch (error) {
			throw error instanceof LocalProblem ? error : this.#unreachable(host, file, error, abort);
		} finally {
			clearTimeout(silence);
			abort.abort();
		}
	}
}

/** Why a redirect is not followed. The files of a hub are at another host, so any host is allowed. `origin`: of the hub. */
function flawOf(to: URL | undefined, origin: string): string | undefined {
	if (!to) return "no address";
	if (to.protocol !== "https:" && to.protocol !== "http:") return `an address of "${to.protocol}"`;
	if (to.username !== "" || to.password !== "") return `${to.host} with a user name`;
	return to.protocol === "https:" || to.origin === origin ? undefined : `${to.host}, which is not encrypted`;
}

const SILENCE = Symbol("silence");
const CHOICES = `${HUB_SETTING} names a mirror, or a folder with the files.`;

function causeOf(error: unknown): string {
	const cause = error instanceof Error ? (error.cause ?? error) : error;
	if (cause instanceof Error)
		return "code" in cause && typeof cause.code === "string" ? cause.code : cause.message;
	return String(cause);
}
