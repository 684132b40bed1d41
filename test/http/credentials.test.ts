import { HonoRequest } from "hono/request";
import { describe, expect, it } from "vitest";
import { newTokenText } from "../../src/accounts/token-text.ts";
import {
	ANTHROPIC_KEY,
	AUTHORIZATION,
	type CredentialLocation,
	credentialReader,
	GEMINI_KEYS,
} from "../../src/http/credentials.ts";

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
		["no credential", {}, [AUTHORIZATION, ...GEMINI_KEYS], "authentication"],
	])("reads %s", (_, headers, locations, expected) => {
		expect(accountIn(headers, locations)).toBe(expected);
	});

	it("reads a key of the query only where the location is the query", () => {
		expect(accountIn({}, GEMINI_KEYS, `?key=${A}`)).toBe("a");
		expect(accountIn({ key: A }, GEMINI_KEYS)).toBe("authentication");
		expect(accountIn({}, [ANTHROPIC_KEY], `?x-api-key=${A}`)).toBe("authentication");
	});
});
