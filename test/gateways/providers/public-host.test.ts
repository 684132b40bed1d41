import { expect, it } from "vitest";
import { isPublicHost } from "../../../src/gateways/providers/public-host.ts";

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
