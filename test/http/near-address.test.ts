import { describe, expect, it } from "vitest";
import { nearAddresses } from "../../src/http/near-address.ts";

const near = nearAddresses([
	"/health",
	"/client/v4/accounts/:account/tokens",
	"/client/v4/accounts/:account/ai/run/:model{.+}",
	"/client/v4/accounts/:account/ai/v1/chat/completions",
	"/client/v4/accounts/:account/ai/v1/files/:file{file[^/]*}/content",
	"/client/v4/accounts/:account/ai/v1/:call{[^/]+:(?:countTokens|embedContent)}",
	"/client/v4/accounts/:account/ai/v1/v1/messages",
	"/client/v4/accounts/:account/ai/v1beta/models/:model{.+}",
	"/v1/chat/completions",
	"/v1beta/models/:model{.+}",
	"/v1/:account/:gateway/:provider/:endpoint{.+}",
	"/client/v4/accounts/:account/vectorize/v2/indexes/:index/query",
]);

const ACCOUNT = "/client/v4/accounts/team-a";

describe("the address that a path without a route means", () => {
	it.each([
		["a slash at the end of a base address", `/${ACCOUNT}/tokens`, `${ACCOUNT}/tokens`],
		["a slash within", `${ACCOUNT}/ai/v1//chat/completions`, `${ACCOUNT}/ai/v1/chat/completions`],
		["a slash before a model", `${ACCOUNT}/ai/run//@cf/a/b`, `${ACCOUNT}/ai/run/@cf/a/b`],
		["a misspelled name", `${ACCOUNT}/ai/v1/chat/completion`, `${ACCOUNT}/ai/v1/chat/completions`],
		["a misspelled part", "/client/v4/account/team-a/ai/run/@cf/a/b", `${ACCOUNT}/ai/run/@cf/a/b`],
		["no /client/v4", "/accounts/team-a/ai/run/@cf/a/b", `${ACCOUNT}/ai/run/@cf/a/b`],
		["no /client", "/v4/accounts/team-a/tokens", `${ACCOUNT}/tokens`],
		["an empty account", "/client/v4/accounts//ai/run/m", "/client/v4/accounts/{account}/ai/run/m"],
		["no account", "/client/v4/accounts/ai/run/m", "/client/v4/accounts/{account}/ai/run/m"],
		["no accounts", "/client/v4/ai/run/m", "/client/v4/accounts/{account}/ai/run/m"],
		["no account before a model", "/ai/run/m", "/client/v4/accounts/{account}/ai/run/m"],
		["no account before /v1", "/ai/v1/chat/completions", "/v1/chat/completions"],
		["no /v1", `${ACCOUNT}/ai/chat/completions`, `${ACCOUNT}/ai/v1/chat/completions`],
		["no /ai", `${ACCOUNT}/v1/chat/completions`, `${ACCOUNT}/ai/v1/chat/completions`],
		["/v1 twice", `${ACCOUNT}/ai/v1/v1/chat/completions`, `${ACCOUNT}/ai/v1/chat/completions`],
		["the native base", `${ACCOUNT}/run/chat/completions`, `${ACCOUNT}/ai/v1/chat/completions`],
		[
			"the route twice",
			`${ACCOUNT}/ai/v1/chat/completions/chat/completions`,
			`${ACCOUNT}/ai/v1/chat/completions`,
		],
		["another slash to a gateway", "/v1//a/g/compat/chat/completions", "/v1/a/g/compat/chat/completions"],
		["/v1 before /v1beta", `${ACCOUNT}/ai/v1/v1beta/models/m:x`, `${ACCOUNT}/ai/v1beta/models/m:x`],
		["/v1beta twice", "/v1beta/v1beta/models/m:x", "/v1beta/models/m:x"],
		["before a parameter", `${ACCOUNT}/ai/v1/file/file-1/content`, `${ACCOUNT}/ai/v1/files/file-1/content`],
		[
			"the first version of Vectorize",
			`${ACCOUNT}/vectorize/indexes/docs/query`,
			`${ACCOUNT}/vectorize/v2/indexes/docs/query`,
		],
		[
			"Vectorize as version 1, misspelled",
			`${ACCOUNT}/vectorize/v1/indexes/docs/quer`,
			`${ACCOUNT}/vectorize/v2/indexes/docs/query`,
		],
		["the other name of a check", "/healthz", "/health"],
	])("%s: %s", (_, path, address) => {
		expect(near(path)).toBe(address);
	});

	it.each([
		["nothing similar", "/robots.txt"],
		["two misspelled segments", `${ACCOUNT}/ai/v1/chats/completion`],
		["another form of a parameter", `${ACCOUNT}/ai/v1/file/batch-1/content`],
		["a missing parameter", `${ACCOUNT}/ai/runs`],
		["the form of a gateway's address", "/a/b/c/d/e"],
		["the address itself", `${ACCOUNT}/tokens`],
		["one with a parameter like a name", "/client/v4/accounts/token/tokens"],
		["a long path", `${ACCOUNT}/ai/run//${"m".repeat(300)}`],
	])("%s has none: %s", (_, path) => {
		expect(near(path)).toBeUndefined();
	});
});
