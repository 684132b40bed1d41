import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { contains, PROFILES } from "../../../src/gateways/profiles/profiles.ts";

const matches = (name: string, text: string): boolean => {
	const profile = PROFILES[name];
	if (!profile) throw new Error(`no profile ${name}`);
	return contains(text, profile);
};

// Test numbers of the card networks, and the examples of the IBAN registry.
describe("profiles", () => {
	it.each([
		["credit_card", "4111 1111 1111 1111"],
		["credit_card", "pay with 5555-5555-5555-4444, please"],
		["credit_card", "378282246310005"],
		["credit_card", "x=6011111111111117;"],
		["iban", "DE89370400440532013000"],
		["iban", "to GB82 WEST 1234 5698 7654 32 AND MORE"],
		["iban", "NO9386011117947"],
		["iban", "MT84MALT011000012345MTLCAST001S"],
		["email", "write to first.last+tag@mail.example.co.uk."],
		["us_ssn", "SSN: 123-45-6789"],
		["api_key", `OPENAI_API_KEY=sk-${"a1B2".repeat(8)}`],
		["api_key", "AKIAIOSFODNN7EXAMPLE"],
		["api_key", `ghp_${"a".repeat(36)}`],
		["api_key", `"AIza${"b".repeat(35)}"`],
		["api_key", "-----BEGIN RSA PRIVATE KEY-----"],
		["api_key", "-----BEGIN PRIVATE KEY-----"],
	])("%s finds %s", (name, text) => {
		expect(matches(name, text)).toBe(true);
		// Expressions with a state must not remember the last match.
		expect(matches(name, text)).toBe(true);
	});

	it.each([
		["credit_card", "4111 1111 1111 1112"],
		["credit_card", "0000 0000 0000 0000"],
		["credit_card", "4111111111111"],
		["credit_card", "order 12345678901234567890123"],
		["iban", "DE88370400440532013000"],
		["iban", "XX89370400440532013000"],
		["iban", "DE8937040044053201300"],
		["email", "a@b"],
		["email", "@example.com"],
		["us_ssn", "000-45-6789"],
		["us_ssn", "666-45-6789"],
		["us_ssn", "900-45-6789"],
		["us_ssn", "123-00-6789"],
		["us_ssn", "123-45-0000"],
		["us_ssn", "1123-45-6789"],
		["api_key", "sk-short"],
		["api_key", "-----BEGIN CERTIFICATE-----"],
	])("%s does not find %s", (name, text) => {
		expect(matches(name, text)).toBe(false);
	});

	it("finds a card at any place of a text", () => {
		fc.assert(
			fc.property(fc.string(), fc.string(), (before, after) => {
				expect(matches("credit_card", `${before} x4111111111111111 ${after}`)).toBe(
					matches("credit_card", before) || matches("credit_card", after),
				);
				expect(matches("credit_card", `${before}\n4111111111111111\n${after}`)).toBe(true);
			}),
		);
	});

	it.each(Object.keys(PROFILES))("%s scans a long text that nearly matches in linear time", (name) => {
		const nearly = [
			"1",
			"1 ",
			"1-",
			"A1",
			"AA11 ",
			"a.",
			"a@",
			"a@a.",
			"sk-",
			"sk-a",
			"-----BEGIN ",
			"DE89 ",
			"_",
			"%a",
		];
		const time = (text: string): number => {
			const start = performance.now();
			matches(name, text);
			return performance.now() - start;
		};
		for (const part of nearly) expect(time(part.repeat(200_000 / part.length))).toBeLessThan(2_000);
	});
});
