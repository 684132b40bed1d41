/** The deletion of an account's data, with a clock that the tests set. The kills and the files: test/node/deletion.test.ts. */
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it } from "vitest";
import { createApp } from "../../../src/app.ts";
import { configure } from "../../../src/config/index.ts";
import { diskSpace } from "../../../src/core/disk-space.ts";
import { createPersistent } from "../../../src/persistent-services.ts";
import { servicesOf } from "../../../src/services.ts";
import { PostponedWork, type WorkRun } from "../../../src/storage/queue/work.ts";
import { deletionWork } from "../../../src/surfaces/accounts/deletion-work.ts";
import { newAccount } from "../../accounts/fixtures.ts";
import { ADMIN, failureOf, json, tokenBody, V4 } from "../../http/access.ts";

/** An isolate with real objects. `clock.ahead`: milliseconds that its clock is ahead. */
function isolate() {
	const clock = { ahead: 0 };
	const config = configure({ DEFAULT_BACKEND: "simulator", SHARDS: 2 });
	const services = {
		...servicesOf(config, createPersistent(env, config)),
		now: () => Date.now() + clock.ahead,
	};
	const app = createApp(services, { allowAnonymous: false, adminToken: ADMIN });
	const send = (account: string, path: string, init: RequestInit = {}, token = ADMIN) =>
		app.request(`${V4}/accounts/${account}${path}`, {
			...init,
			headers: { ...init.headers, authorization: `Bearer ${token}` },
		});
	/** Runs the item until it waits for longer than a pass. */
	const runItem = async (account: string): Promise<"complete" | "waits"> => {
		for (let passes = 0; passes < 20; passes++) {
			const run: WorkRun = {
				...{ account: "#deletions", kind: "accounts", key: account, payload: undefined },
				...{ attempt: 1, fence: 1, signal: new AbortController().signal, progress: () => {} },
			};
			const postponed = await deletionWork(services)
				.run(run)
				.then(
					() => undefined,
					(cause: unknown) => cause,
				);
			if (postponed === undefined) return "complete";
			if (!(postponed instanceof PostponedWork)) throw postponed;
			if (postponed.milliseconds > 60_000) return "waits";
			clock.ahead += postponed.milliseconds;
			// What the objects do by their alarms.
			await scheduler.wait(50);
		}
		throw new Error("The deletion does not end");
	};
	return { clock, services, send, runItem };
}

const state = async (answer: Response) => (await answer.json<{ result: { state: string } }>()).result.state;

afterEach(() => diskSpace.set(undefined));

describe("DELETE …/ai/data", () => {
	it("refuses the account from its begin on, in every isolate, and its name for an hour", async () => {
		const account = newAccount();
		const [one, other] = [isolate(), isolate()];
		const created = await one.send(
			account,
			"/tokens",
			json("POST", tokenBody(account, ["Workers AI Write"])),
		);
		const { value } = (await created.json<{ result: { value: string } }>()).result;
		const run = json("POST", { prompt: "Hi" });
		const path = "/ai/run/@cf/meta/llama-3.1-8b-instruct-fast";
		for (const each of [one, other]) expect((await each.send(account, path, run, value)).status).toBe(200);

		expect(await state(await one.send(account, "/ai/data", { method: "DELETE" }))).toBe("deleting");
		expect(await state(await other.send(account, "/ai/data"))).toBe("deleting");
		expect((await one.send(account, path, run, value)).status).toBe(401);
		expect(await failureOf(await one.send(account, path, run))).toBe(
			`409 1001: The data of the account ${account} are being deleted`,
		);
		for (const refused of ["/ai/v1/files", "/ai-gateway/gateways", "/vectorize/v2/indexes", "/ai/aliases"])
			expect([refused, (await one.send(account, refused)).status]).toEqual([refused, 409]);
		// Reports of all accounts go on without it.
		const { accounts } = await one.services.directory.list({ limit: 1_000 });
		expect(accounts.map(({ id }) => id)).not.toContain(account);
		const late = { account, kind: "batches", key: "late" };
		await expect(one.services.storage.queue.enqueue(late)).rejects.toThrow("are being deleted");
		// The other isolate has renewed its copy when the item goes on.
		await scheduler.wait(3_100);
		expect((await other.send(account, path, run, value)).status).toBe(401);

		expect(await one.runItem(account)).toBe("waits");
		expect(await state(await one.send(account, "/ai/data"))).toBe("absent");
		expect(await failureOf(await one.send(account, "/ai/usage"))).toMatch(
			/^409 1001: The data of the account \S+ were deleted\. An account with this name can be made from 20\S+Z on$/,
		);
		expect(await state(await one.send(account, "/ai/data", { method: "DELETE" }))).toBe("absent");

		one.clock.ahead += 3_600_000;
		expect(await one.runItem(account)).toBe("complete");
		const again = await one.send(account, "/tokens", json("POST", tokenBody(account, ["Workers AI Write"])));
		const token = (await again.json<{ result: { value: string } }>()).result.value;
		expect((await one.send(account, path, run, token)).status).toBe(200);
		expect((await one.send(account, path, run, value)).status).toBe(401);
		const { result } = await (await one.send(account, "/ai/usage")).json<{
			result: { requests: number }[];
		}>();
		expect(result).toMatchObject([{ requests: 1 }]);
	});

	it("deletes the rows of an account at each of its places", async () => {
		const account = newAccount();
		const { runItem, send } = isolate();
		await send(account, "/ai/aliases/mine", json("PUT", { model: "@cf/meta/llama-3.1-8b-instruct-fast" }));
		const placeOf = async () =>
			(await (await send(account, "/ai/place")).json<{ result: { place: string } }>()).result.place;
		const shard = await placeOf();
		await send(account, "/ai/place", json("PUT", { object: "own" }));
		const own = await placeOf();
		expect(own).not.toBe(shard);
		await send(account, "/ai/data", { method: "DELETE" });
		expect(await runItem(account)).toBe("waits");
		for (const place of [shard, own])
			expect(await env.ACCOUNT.getByName(place).erase(account, false)).toEqual({ rows: 0 });
	});

	it("begins on a full disk, of which it frees a part", async () => {
		const account = newAccount();
		const { send } = isolate();
		diskSpace.set({ name: "disk_bytes", used: 2, limit: 1, refused: 0 });
		expect(await state(await send(account, "/ai/data", { method: "DELETE" }))).toBe("deleting");
	});

	it("is for the operator", async () => {
		const account = newAccount();
		const { send } = isolate();
		const created = await send(account, "/tokens", json("POST", tokenBody(account, ["Workers AI Write"])));
		const { value } = (await created.json<{ result: { value: string } }>()).result;
		for (const method of ["GET", "DELETE"])
			expect(await failureOf(await send(account, "/ai/data", { method }, value))).toBe(
				"403 10000: Authentication error: only the operator's token may call this route",
			);
	});
});
