/** A gateway that requires a credential: the operator's, or a token of an account. */
import { env } from "cloudflare:workers";
import type { Hono } from "hono";
import { createApp } from "../../src/app.ts";
import { configure } from "../../src/config/index.ts";
import { lazy } from "../../src/core/lazy.ts";
import { createPersistent } from "../../src/persistent-services.ts";
import type { AppServices } from "../../src/surfaces/services.ts";
import { newAccount } from "../accounts/fixtures.ts";
import { replaceServices, type TestOptions, testServices } from "../gateway.ts";

export const ADMIN = "the-operator-of-the-test-and-nobody-else";
export const V4 = "http://gateway/client/v4";

const defaults = lazy(() => configure({}));

/** The message of every 401. */
export const UNAUTHENTICATED =
	"Authentication error: no valid token. Send one of the account as bearer token or API key (docs/accounts.md#tokens)";

export interface ClosedGateway {
	app: Hono;
	services: AppServices;
	/** A new account. */
	account: string;
	/** `path`: below `/client/v4/accounts/{account}`, or a URL. Without `token` the request has no credential. */
	send(path: string, token?: string, init?: RequestInit): Promise<Response>;
	/** The operator makes a token with these permission groups. Returns its text. */
	createToken(groups: readonly string[], overrides?: object): Promise<string>;
}

export function closedGateway(options: TestOptions = {}, account = newAccount()): ClosedGateway {
	const services = {
		// Real ledgers, time and ids, so that tests can read the account's object directly.
		...replaceServices(testServices(options), { ledgers: createPersistent(env, defaults()).ledgers }),
		uuid: () => crypto.randomUUID(),
		now: () => Date.now(),
	};
	const app = createApp(services, { allowAnonymous: false, adminToken: ADMIN });
	const send: ClosedGateway["send"] = async (path, token, init = {}) => {
		const url = path.startsWith("http") ? path : `${V4}/accounts/${account}${path}`;
		const headers = new Headers(init.headers);
		if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
		return app.request(url, { ...init, headers });
	};
	return {
		app,
		services,
		account,
		send,
		createToken: async (groups, overrides = {}) => {
			const response = await send(
				"/tokens",
				ADMIN,
				json("POST", { ...tokenBody(account, groups), ...overrides }),
			);
			const { result, errors } = await response.json<{ result: { value: string } | null; errors: unknown }>();
			if (!result) throw new Error(JSON.stringify(errors));
			return result.value;
		},
	};
}

export const json = (method: string, body: unknown): RequestInit => ({
	method,
	body: JSON.stringify(body),
	headers: { "content-type": "application/json" },
});

export const tokenBody = (account: string, groups: readonly string[], effect = "allow") => ({
	name: "a token",
	policies: [
		{
			effect,
			permission_groups: groups.map((name) => ({ name })),
			resources: { [`com.cloudflare.api.account.${account}`]: "*" },
		},
	],
});

/** `401 10000: Authentication error`; in Anthropic's format, `401 authentication_error: Authentication error`. */
export async function failureOf(response: Response): Promise<string> {
	const { errors, error } = await response.json<{
		errors?: { code: number; message: string }[];
		error?: { type?: string; status?: string; message: string };
	}>();
	const failures = errors?.map(({ code, message }) => `${code}: ${message}`) ?? [
		`${error?.type ?? error?.status}: ${error?.message}`,
	];
	return `${response.status} ${failures.join("; ")}`;
}
