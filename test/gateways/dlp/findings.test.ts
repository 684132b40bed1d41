import { describe, expect, it } from "vitest";
import { findingsOf, merged, policiesOf } from "../../../src/gateways/dlp/findings.ts";

const CARD = "4111 1111 1111 1111";
const finding = (name: string, policies: string[], check = "REQUEST") => ({
	profile: { context: {}, entry_ids: [], profile_id: name },
	policy_ids: policies,
	check,
});
const policy = (id: string, action: "FLAG" | "BLOCK", profiles: string[]) => ({
	id,
	enabled: true,
	action,
	check: ["REQUEST" as const],
	profiles,
	customProfiles: { employee: { pattern: "\\bE-\\d{6}\\b" } },
});

describe("policiesOf", () => {
	it("reads both forms of the setting", () => {
		expect(policiesOf({ dlp: undefined })).toEqual([]);
		expect(policiesOf({ dlp: { enabled: false, action: "BLOCK", profiles: ["email"] } })).toEqual([]);
		expect(policiesOf({ dlp: { enabled: true, action: "BLOCK", profiles: ["email"] } })).toEqual([
			{ action: "BLOCK", check: ["REQUEST"], profiles: ["email"], customProfiles: {} },
		]);
		const policies = [policy("a", "FLAG", ["email"]), { ...policy("b", "BLOCK", ["iban"]), enabled: false }];
		expect(policiesOf({ dlp: { enabled: true, policies } })).toMatchObject([{ id: "a" }]);
	});
});

describe("findingsOf", () => {
	const policies = [
		policy("a", "FLAG", ["email", "credit_card"]),
		policy("b", "BLOCK", ["credit_card", "us_ssn"]),
	];

	it("names the profiles, their policies, and the strictest action", () => {
		expect(findingsOf(["Hi"], "REQUEST", policies)).toBeUndefined();
		expect(findingsOf(["a@b.example"], "REQUEST", policies)).toEqual({
			findings: [finding("email", ["a"])],
			action: "FLAG",
		});
		expect(findingsOf(["a@b.example", CARD], "REQUEST", policies)).toEqual({
			findings: [finding("email", ["a"]), finding("credit_card", ["a", "b"])],
			action: "BLOCK",
		});
		expect(findingsOf([CARD], "RESPONSE", policies)).toBeUndefined();
		const custom = [policy("c", "BLOCK", ["employee"])];
		expect(findingsOf(["for E-123456."], "REQUEST", custom)).toMatchObject({
			findings: [{ profile: { profile_id: "employee" }, policy_ids: ["c"] }],
			action: "BLOCK",
		});
		expect(findingsOf(["for E-12345."], "REQUEST", custom)).toBeUndefined();
	});

	it("joins the findings of a request and its answer", () => {
		const request = { findings: [finding("email", [])], action: "FLAG" } as never;
		const response = { findings: [finding("iban", [], "RESPONSE")], action: "BLOCK" } as never;
		expect(merged(undefined, response)).toEqual(response);
		expect(merged(request, response)).toEqual({
			findings: [finding("email", []), finding("iban", [], "RESPONSE")],
			action: "BLOCK",
		});
		expect(merged(response, request).action).toBe("BLOCK");
	});
});
