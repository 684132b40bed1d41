import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { ACCOUNT_ROOMS } from "../../../src/surfaces/accounts/account-rooms.ts";
import type { ErasableBinding } from "../../../src/surfaces/services.ts";

it("has an answer for the data of an account in every class of objects of the deployment", () => {
	const namespaces = Object.entries(env)
		.filter(([, value]) => Object(value).constructor?.name === "DurableObjectNamespace")
		.map(([name]) => name);
	expect(namespaces.length).toBeGreaterThan(10);
	expect(Object.keys(ACCOUNT_ROOMS)).toEqual(expect.arrayContaining(namespaces));
});

const ERASABLE: Record<ErasableBinding, true> = {
	BLOBS: true,
	GATEWAY: true,
	GATEWAYS: true,
	JOB_STORE: true,
	RESPONSE_CACHE: true,
	RESPONSE_STORE: true,
	SEARCH_REGISTRY: true,
	VECTOR_REGISTRY: true,
};

// A row that each start of an object writes would keep a deletion from its end.
it.each(Object.keys(ERASABLE))("finds nothing in a new object of %s", async (binding) => {
	const namespace = env[binding as ErasableBinding] as unknown as {
		getByName(name: string): { erase(name: string): Promise<number | undefined> };
	};
	expect(await namespace.getByName("new/object").erase("new")).toBe(0);
});
