import { expect, it } from "vitest";
import { type GatewayEnd, GatewayExchange, type GatewayExchangeInit } from "../../src/gateways/exchange.ts";

const INIT: GatewayExchangeInit = {
	id: "log-1",
	account: "acme",
	gateway: "default",
	options: {},
	source: { type: "Universal" },
};

it("reports the facts of a request once, at its end", () => {
	const ends: GatewayEnd[] = [];
	let time = 1_000;
	const exchange = new GatewayExchange(INIT, { now: () => time, observers: [(_, end) => ends.push(end)] });
	exchange.report({ provider: "openai", step: 0 });
	exchange.report({ step: 1, model: "openai/gpt-5.4-mini" });
	expect(exchange.facts).toEqual({ provider: "openai", step: 1, model: "openai/gpt-5.4-mini" });
	expect(ends).toEqual([]);
	time = 1_250;
	exchange.end();
	time = 9_000;
	exchange.end();
	expect(ends).toEqual([{ provider: "openai", step: 1, model: "openai/gpt-5.4-mini", durationMs: 250 }]);
});

it("has the caller's event id, or its own id", () => {
	const services = { now: () => 0, observers: [] };
	expect(new GatewayExchange(INIT, services).eventId).toBe("log-1");
	expect(new GatewayExchange({ ...INIT, options: { eventId: "event-1" } }, services).eventId).toBe("event-1");
});
