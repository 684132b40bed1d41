import { HonoRequest } from "hono/request";
import { describe, expect, it } from "vitest";
import { newTokenText } from "../../src/accounts/token-text.ts";
import { FAILURES, toAiError } from "../../src/core/errors.ts";
import {
	ANTHROPIC_KEY,
	AUTHORIZATION,
	AZURE_KEY,
	type CredentialLocation,
	credentialReader,
	GEMINI_KEYS,
	SDK_AUTHORIZATION,
	selectedProtocol,
	WEBSOCKET_PROTOCOL,
} from "../../src/http/credentials.ts";

function thrownBy(work: () => unknown): unknown {
	try {
		work();
	} catch (thrown) {
		return thrown;
	}
	throw new Error("nothing was thrown");
}

const A = newTokenText("a");
const B = newTokenText("b");
const REQUIRED: CredentialLocation = { in: "header", name: "x-key", requires: "x-version" };

describe("credentialReader", () => {
	/** The account of the credential, or the failure. */
	function accountIn(headers: Record<string, string>, locations: readonly CredentialLocation[], query = "") {
		const read = credentialReader({ allowAnonymous: false, adminToken: "the-admin-token-of-this-test" });
		try {
			return read(new HonoRequest(new Request(`http://gateway/${query}`, { headers })), locations).account;
		} catch (error) {
			return (error as { key?: string }).key;
		}
	}

	it.each<[string, Record<string, string>, readonly CredentialLocation[], string | undefined]>([
		["a bearer token", { authorization: `Bearer ${A}` }, [AUTHORIZATION], "a"],
		["a text without its scheme", { authorization: A }, [AUTHORIZATION], "authentication"],
		["a key of a header", { "x-api-key": A }, [ANTHROPIC_KEY], "a"],
		["a key of Azure's clients", { "api-key": A }, [AUTHORIZATION, AZURE_KEY], "a"],
		["a key with a scheme", { "x-api-key": `Bearer ${A}` }, [ANTHROPIC_KEY], "authentication"],
		[
			"the first of two locations",
			{ "x-api-key": A, authorization: `Bearer ${B}` },
			[AUTHORIZATION, ANTHROPIC_KEY],
			"b",
		],
		["the second of two locations", { "x-api-key": A }, [AUTHORIZATION, ANTHROPIC_KEY], "a"],
		["a key beside the header that it requires", { "x-key": A, "x-version": "1" }, [REQUIRED], "a"],
		["a key without the header that it requires", { "x-key": A }, [REQUIRED], "authentication"],
		["a token with fal's scheme", { authorization: `Key ${A}` }, [SDK_AUTHORIZATION], "a"],
		["a token with Deepgram's scheme", { authorization: `token ${A}` }, [SDK_AUTHORIZATION], "a"],
		["a bearer token of an SDK", { authorization: `Bearer ${A}` }, [SDK_AUTHORIZATION], "a"],
		["a text of an SDK without its scheme", { authorization: A }, [SDK_AUTHORIZATION], "authentication"],
		["an SDK's scheme elsewhere", { authorization: `Key ${A}` }, [AUTHORIZATION], "authentication"],
		["no credential", {}, [AUTHORIZATION, ...GEMINI_KEYS], "authentication"],
	])("reads %s", (_, headers, locations, expected) => {
		expect(accountIn(headers, locations)).toBe(expected);
	});

	it.each<[string, Record<string, string>, readonly CredentialLocation[], string | undefined]>([
		[
			"a token without its scheme",
			{ authorization: A },
			[AUTHORIZATION],
			"the header `authorization` has no `Bearer` before the token",
		],
		[
			"a token with an SDK's scheme on another route",
			{ authorization: `Token ${A}` },
			[AUTHORIZATION],
			"the header `authorization` has no `Bearer` before the token",
		],
		["a global API key", { "x-auth-key": A }, [AUTHORIZATION], "the header `x-auth-key` is not read here"],
		["a key of another API", { "x-api-key": A }, [AUTHORIZATION], "the header `x-api-key` is not read here"],
		["a text that is no token", { authorization: `Bearer ${A} ${B}` }, [AUTHORIZATION], undefined],
		["no credential", {}, [AUTHORIZATION], undefined],
	])("says why it refuses %s, and shows no token", (_, headers, locations, reason) => {
		const read = credentialReader({ allowAnonymous: false, adminToken: "the-admin-token-of-this-test" });
		const request = new HonoRequest(new Request("http://gateway/", { headers }));
		const { description } = toAiError(thrownBy(() => read(request, locations)));
		expect(description).toMatch(/^Authentication error: no valid token/);
		if (reason === undefined) expect(description).toBe(FAILURES.authentication.description);
		else expect(description).toContain(`no valid token: ${reason}`);
		for (const token of [A, B]) expect(description).not.toContain(token);
	});

	it("reads a key of the query only where the location is the query", () => {
		expect(accountIn({}, GEMINI_KEYS, `?key=${A}`)).toBe("a");
		expect(accountIn({ key: A }, GEMINI_KEYS)).toBe("authentication");
		expect(accountIn({}, [ANTHROPIC_KEY], `?x-api-key=${A}`)).toBe("authentication");
	});

	it.each([
		["after another subprotocol", `ganglion, cf-aig-authorization.${A}`, "a"],
		["URL-encoded", `cf-aig-authorization.${A.replace("_", "%5F")}`, "a"],
		["with a broken escape", "cf-aig-authorization.%", "authentication"],
		["without its prefix", A, "authentication"],
	])("reads a token of a websocket's subprotocol: %s", (_, protocols, expected) => {
		expect(accountIn({ "sec-websocket-protocol": protocols }, [AUTHORIZATION, WEBSOCKET_PROTOCOL])).toBe(
			expected,
		);
	});
});

describe("selectedProtocol", () => {
	it.each([
		["ganglion, cf-aig-authorization.secret", "ganglion"],
		["cf-aig-authorization.secret, chat", "chat"],
		["cf-aig-authorization.secret", undefined],
		[undefined, undefined],
	])("never repeats the token: %s", (protocols, expected) => {
		const headers = new Headers();
		if (protocols !== undefined) headers.set("sec-websocket-protocol", protocols);
		expect(selectedProtocol(new Request("http://gateway/", { headers }))).toBe(expected);
	});
});
