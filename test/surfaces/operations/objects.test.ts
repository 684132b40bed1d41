/** Durable Objects in another process. The calls of this test stay in the process. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { StreamRuns } from "../../../src/gateways/client/stream-runs.ts";
import { objects, withRemoteObjects } from "../../../src/surfaces/operations/objects.ts";

const OBJECT_NAMES = ["ACCOUNT", "DIRECTORY", "GATEWAYS", "STREAM_RUN"];
const Objects = objects(env, OBJECT_NAMES);
const remote = new Objects(createExecutionContext(), env);
const runsOf = (namespace: typeof env.STREAM_RUN) =>
	new StreamRuns({
		namespace,
		object: (id) => namespace.get(id),
		registry: (account) => env.GATEWAYS.getByName(account),
		now: () => Date.now(),
	});
const owner = { account: "acme", gateway: "default" };

describe("objects in another process", () => {
	it("have the ids of the local namespaces, and stream their answers", async () => {
		const { STREAM_RUN } = withRemoteObjects(env, OBJECT_NAMES, remote);
		const runs = runsOf(STREAM_RUN);
		const { id, calls } = runs.create("acme");
		await calls.begin({ ...owner, contentType: "text/event-stream" });
		await calls.append(new TextEncoder().encode("data: 1\n\n"), 1);
		await calls.finish("ended");
		expect(await ((await runs.resume(id, 0, owner)) as Response).text()).toBe("data: 1\n\n");
		// The object is that of the local namespace.
		const local = runsOf(env.STREAM_RUN);
		expect(await ((await local.resume(id, 0, owner)) as Response).text()).toBe("data: 1\n\n");
		expect(await runs.resume("f".repeat(64), 0, owner)).toBeUndefined();
	});

	it("are called by name", async () => {
		const { DIRECTORY } = withRemoteObjects(env, OBJECT_NAMES, remote);
		const stub = DIRECTORY.getByName("remote-objects");
		expect(stub.id.equals(env.DIRECTORY.idFromName("remote-objects"))).toBe(true);
		await stub.add([{ id: "acme", place: "acme" }]);
		const local = env.DIRECTORY.getByName("remote-objects");
		const { accounts } = await local.list({ limit: 2 });
		expect(accounts.map(({ id }) => id)).toEqual(["acme"]);
	});

	it("have results with methods, which are called without waiting for the result", async () => {
		const { GATEWAYS } = withRemoteObjects(env, OBJECT_NAMES, remote);
		const elements = [{ id: "end", type: "end", outputs: {} }] as never;
		const route = await GATEWAYS.getByName("remote-objects").dynamicRoutes().create("shop", "fast", elements);
		expect(route).toMatchObject({ gateway: "shop", name: "fast" });
		const deployed = await GATEWAYS.getByName("remote-objects").dynamicRoutes().list("shop");
		expect(deployed).toMatchObject([{ name: "fast" }]);
	});

	it("leave other bindings as they are", () => {
		const bindings = { NAME: "value", SETTING: { a: 1 }, ACCOUNT: env.ACCOUNT };
		expect(withRemoteObjects(bindings, OBJECT_NAMES, undefined)).toBe(bindings);
		const { NAME, SETTING } = withRemoteObjects(bindings, OBJECT_NAMES, remote);
		expect({ NAME, SETTING }).toEqual({ NAME: "value", SETTING: { a: 1 } });
	});

	it("refuse bindings that are no namespace", async () => {
		await expect(remote.call({ binding: "ROUTES", name: "x" }, "get", [])).rejects.toThrow(
			"no Durable Object namespace has the binding ROUTES",
		);
	});
});
