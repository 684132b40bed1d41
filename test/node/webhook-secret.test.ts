/** The secret of a webhook in Node, in which the command checks the configuration. */
import { expect, it } from "vitest";
import { jobsSchema } from "../../src/config/jobs.ts";

/** `undefined`: the configuration is refused. */
const secretOf = (secret: string): unknown =>
	jobsSchema({ HOOK: secret })
		.safeParse({
			webhooks: { acme: { url: "https://hooks.example.com/", secret: "HOOK" } },
		})
		.data?.settings.webhooks.get("acme")?.secret;

it.each([
	["whsec_/+8BAg==", [0xff, 0xef, 1, 2]],
	["whsec_YWJjIQ", [97, 98, 99, 33]],
	["abc!", [97, 98, 99, 33]],
])("%s is these bytes", (secret, bytes) => {
	expect(secretOf(secret)).toEqual(Uint8Array.from(bytes));
});

it.each(["whsec_", "whsec_not base64!", "whsec_YW-_"])("%s is refused", (secret) => {
	expect(secretOf(secret)).toBeUndefined();
});
