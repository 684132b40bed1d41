import { expect, it } from "vitest";
import { forwardedHeaders, returnedHeaders } from "../../../src/gateways/providers/headers.ts";

it("forwards neither options, keys, facts about the client, nor headers of the connection", () => {
	const sent = new Headers({
		"content-type": "application/json",
		"anthropic-version": "2023-06-01",
		"openai-beta": "assistants=v2",
		"user-agent": "sdk/1",
		accept: "*/*",
		authorization: "Bearer secret",
		"x-api-key": "secret",
		"x-goog-api-key": "secret",
		"api-key": "secret",
		"xi-api-key": "secret",
		"cf-aig-authorization": "Bearer secret",
		"cf-aig-metadata": "{}",
		"cf-access-jwt-assertion": "secret",
		"cf-connecting-ip": "192.0.2.1",
		"x-forwarded-for": "192.0.2.1",
		"x-real-ip": "192.0.2.1",
		"x-ganglion-single-flight": "1",
		"x-auth-key": "secret",
		cookie: "session=secret",
		origin: "https://app.example",
		referer: "https://app.example/",
		host: "gateway",
		connection: "keep-alive, x-hop",
		"x-hop": "1",
		"transfer-encoding": "chunked",
		"content-length": "3",
		"content-encoding": "gzip",
	});
	expect(Object.fromEntries(forwardedHeaders(sent))).toEqual({
		accept: "*/*",
		"anthropic-version": "2023-06-01",
		"content-type": "application/json",
		"openai-beta": "assistants=v2",
		"user-agent": "sdk/1",
	});
});

it("returns no cookie, no browser policy and no header of a gateway of the provider's", () => {
	const received = new Headers({
		"content-type": "text/html",
		"x-request-id": "req_1",
		"retry-after": "3",
		"set-cookie": "a=b",
		"access-control-allow-origin": "*",
		"content-encoding": "gzip",
		"content-length": "9",
		"cf-aig-step": "7",
		"content-security-policy": "default-src *",
		"strict-transport-security": "max-age=1",
	});
	expect(Object.fromEntries(returnedHeaders(received))).toEqual({
		"content-security-policy": "sandbox",
		"content-type": "text/html",
		"retry-after": "3",
		"x-content-type-options": "nosniff",
		"x-request-id": "req_1",
	});
});
