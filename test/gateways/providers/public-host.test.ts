import { describe, expect, it } from "vitest";
import { addressProblem, isPublicHost } from "../../../src/gateways/providers/public-host.ts";

const hostOf = (address: string): string => new URL(`https://${address}/`).hostname;

it.each(["api.example.com", "8.8.8.8", "172.32.0.1", "172.15.255.255", "100.63.0.1", "example.com."])(
	"accepts %s",
	(address) => {
		expect(isPublicHost(hostOf(address))).toBe(true);
	},
);

it.each([
	"localhost",
	"a.localhost",
	"metadata.google.internal",
	"printer.local",
	"gateway",
	"gateway.lan.",
	"localhost..",
	"gateway.lan..",
	"127.0.0.1",
	"127.1",
	"0x7f.1",
	"2130706433",
	"0.0.0.0",
	"10.1.2.3",
	"100.64.0.1",
	"169.254.169.254",
	"172.16.0.1",
	"172.31.255.255",
	"192.168.1.1",
	"198.18.0.1",
	"224.0.0.1",
	"255.255.255.255",
	"[::1]",
	"[::ffff:10.0.0.1]",
	"[fd00::1]",
	"[2606:4700::1111]",
])("refuses %s", (address) => {
	expect(isPublicHost(hostOf(address))).toBe(false);
});

describe("addressProblem", () => {
	const OWN = "is the address of this gateway";
	const problem = (address: string, allowPrivateAddresses = false) =>
		addressProblem(address, { allowPrivateAddresses, publicUrl: "https://ai.example.com" });

	it.each([
		"https://ai.example.com/v1",
		"https://ai.example.com./v1",
		"https://ai.example.com../v1",
		"https://ai.example.com:8443/v1",
		"https://AI.Example.COM/v1",
		"https://user:secret@ai.example.com/v1",
		"https://ai.example.com%2e/v1",
		"https://ai\u3002example\uff0ecom/v1",
		"http://ai.example.com/v1",
	])("knows the gateway as %s", (address) => {
		expect(problem(address)).toBe(OWN);
	});

	it.each(["https://ai.example.com./", "https://ai.example.com..:443/", "https://AI.example.com/"])(
		"knows the gateway as %s where private addresses are allowed",
		(address) => {
			expect(problem(address, true)).toBe(OWN);
		},
	);

	it("accepts another server of the host where private addresses are allowed", () => {
		expect(problem("https://ai.example.com:8443/", true)).toBeUndefined();
	});

	it.each([
		"https://[::1]/",
		"https://[::ffff:127.0.0.1]/",
		"https://[64:ff9b::7f00:1]/",
		"https://[::]/",
		"https://127.1/",
		"https://0x7f.1/",
		"https://2130706433/",
		"https://0/",
		"https://127.0.0.1./",
		"https://localhost../",
	])("refuses the local machine as %s", (address) => {
		expect(problem(address)).toMatch(/^is not a public address/);
	});

	it("accepts a provider", () => {
		expect(problem("https://api.openai.com/v1")).toBeUndefined();
		expect(problem("https://ai.example.com.evil.example/")).toBeUndefined();
	});
});
