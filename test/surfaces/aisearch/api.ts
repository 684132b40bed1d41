/** Calls of AI Search's REST API. The queue runs each item at once, unless a test holds it. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { onTestFinished, vi } from "vitest";
import { createApp } from "../../../src/app.ts";
import { AiError } from "../../../src/core/errors.ts";
import { AccountBlobs } from "../../../src/storage/blobs/account-blobs.ts";
import { type NewWork, PostponedWork } from "../../../src/storage/queue/work.ts";
import { searchWork } from "../../../src/surfaces/aisearch/work.ts";
import { OPEN_ACCESS, type TestOptions, testServices } from "../../gateway.ts";

const ROOT = "http://gateway/client/v4/accounts/local/ai-search";

const MAX_RUNS = 1_000;

interface Answer {
	status: number;
	// biome-ignore lint/suspicious/noExplicitAny: the tests compare it.
	result: any;
	// biome-ignore lint/suspicious/noExplicitAny: the same.
	result_info?: any;
	errors: { code: number; message: string }[];
	messages: { message: string }[];
}

/** What the alarms of instances put into the Worker's own queue stays there, until the mocks are restored. */
export async function holdAlarms() {
	const enqueue = vi.fn(async () => 0);
	const prototype: { queue(): { enqueue: typeof enqueue } } = await runInDurableObject(
		env.SEARCH_INSTANCE.getByName("held"),
		(instance) => Object.getPrototypeOf(instance),
	);
	vi.spyOn(prototype, "queue").mockReturnValue({ enqueue });
	return enqueue;
}

/** No file can be deleted until the test ends. Returns the keys of the failures that are logged. */
export function keepFiles({ services }: Pick<ReturnType<typeof searchApi>, "services">): string[] {
	const deletion = vi
		.spyOn(AccountBlobs.prototype, "delete")
		.mockRejectedValue(new AiError("storageUnavailable"));
	onTestFinished(() => deletion.mockRestore());
	const logged: string[] = [];
	services.log = ({ key }) => void logged.push(key);
	return logged;
}

export function searchApi(options: TestOptions = {}) {
	const base = testServices(options);
	const held: NewWork[] = [];
	let isHeld = false;
	const services: typeof base = {
		...base,
		wait: async () => {},
		storage: {
			...base.storage,
			queue: {
				...base.storage.queue,
				async enqueue(items) {
					const all = [items].flat() as NewWork[];
					held.push(...all);
					if (!isHeld) await runAll();
					return all.length;
				},
			},
		},
	};
	const runOnce = (
		{ account, key, kind, payload }: NewWork,
		{ attempt = 1, fence = 1, signal = new AbortController().signal } = {},
	): Promise<void> =>
		searchWork(services).run({
			...{ account, key, kind, payload, fence, attempt, signal },
			progress: () => {},
		});
	/** Work that is postponed runs again at once. */
	async function runOne(work: NewWork, fence = 1): Promise<void> {
		for (let runs = 1; ; runs++) {
			try {
				return await runOnce(work, { fence });
			} catch (thrown) {
				if (!(thrown instanceof PostponedWork) || runs === MAX_RUNS) throw thrown;
			}
		}
	}
	async function runAll(): Promise<void> {
		for (const work of held.splice(0)) await runOne(work);
	}
	const app = createApp(services, OPEN_ACCESS);
	const send = (method: string, path: string, body?: unknown): Promise<Response> | Response =>
		app.request(`${ROOT}${path}`, {
			method,
			headers: {
				...(body !== undefined && !(body instanceof FormData) && { "content-type": "application/json" }),
			},
			...(body !== undefined && { body: body instanceof FormData ? body : JSON.stringify(body) }),
		});
	const call = async (method: string, path: string, body?: unknown): Promise<Answer> => {
		const response = await send(method, path, body);
		return { status: response.status, ...(await response.json<Omit<Answer, "status">>()) };
	};
	return {
		services,
		app,
		send,
		held,
		runOnce,
		runOne,
		runAll,
		hold: () => {
			isHeld = true;
		},
		get: (path: string) => call("GET", path),
		post: (path: string, body?: unknown) => call("POST", path, body),
		put: (path: string, body?: unknown) => call("PUT", path, body),
		patch: (path: string, body?: unknown) => call("PATCH", path, body),
		delete: (path: string) => call("DELETE", path),
		create: (id = "docs", config: object = {}) => call("POST", "/instances", { id, ...config }),
		upload(
			key: string,
			text: string | Uint8Array<ArrayBuffer>,
			fields: Record<string, string> = {},
			instance = "docs",
		) {
			const form = new FormData();
			form.set("file", new File([text], key, { type: "text/markdown" }));
			for (const [name, value] of Object.entries(fields)) form.set(name, value);
			return call("POST", `/instances/${instance}/items`, form);
		},
	};
}
