/** LoRA adapters over REST, with what `wrangler` and the published `cloudflare` client send. */
import Cloudflare, { toFile } from "cloudflare";
import { describe, expect, it } from "vitest";
import { AiError } from "../../../src/core/errors.ts";
import { BASE, type TestGateway, testGateway } from "../../gateway.ts";
import { closedGateway } from "../../http/access.ts";
import { loraConfig, loraWeights } from "../../jobs/adapters/adapter-files.ts";

const FINETUNES = `${BASE}/finetunes`;
const MISTRAL = "@cf/mistral/mistral-7b-instruct-v0.2-lora";

/** As `wrangler` does: a string, which gets the content type of a text. */
const create = (gateway: TestGateway, fields: object = {}) =>
	gateway.app.request(FINETUNES, {
		method: "POST",
		body: JSON.stringify({ model: MISTRAL, name: "support", description: "", ...fields }),
	});

/** As `wrangler` does: a `Blob` without a name or a type. */
function upload(
	gateway: TestGateway,
	adapter: string,
	fileName: string,
	content: string | Uint8Array<ArrayBuffer>,
) {
	const body = new FormData();
	body.set("file_name", fileName);
	body.set("file", new Blob([content]));
	return gateway.app.request(`${FINETUNES}/${adapter}/finetune-assets`, { method: "POST", body });
}

interface FineTune {
	id: string;
	name: string;
	description: string;
	public: boolean;
	created_at: string;
	modified_at: string;
	files: { name: string; bytes: number }[];
	rank?: number;
}

async function resultOf<Result = FineTune>(response: Response | Promise<Response>): Promise<Result> {
	const body = await (await response).json<{ success: boolean; result: Result; errors: unknown[] }>();
	expect(body).toMatchObject({ success: true, errors: [] });
	return body.result;
}

async function errorOf(response: Response | Promise<Response>) {
	const answered = await response;
	const body = await answered.json<{ success: boolean; errors: { code: number; message: string }[] }>();
	expect(body.success).toBe(false);
	return { status: answered.status, ...body.errors[0] };
}

const list = (gateway: TestGateway) => resultOf<FineTune[]>(gateway.get("/finetunes"));

const stored = async ({ services }: TestGateway) =>
	(await services.storage.blobs("local").list({ prefix: "adapters/" })).blobs.map(({ bytes }) => bytes);

describe("fine-tunes", () => {
	it("are created, filled, listed and deleted", async () => {
		const gateway = testGateway();
		const before = await stored(gateway);
		expect(await list(gateway)).toEqual([]);
		const made = await resultOf(create(gateway));
		expect(made).toEqual({
			id: expect.stringMatching(/^[\da-f-]{36}$/),
			model: MISTRAL,
			name: "support",
			description: "",
			public: false,
			created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
			modified_at: made.created_at,
			files: [],
		});
		await resultOf(upload(gateway, made.id, "adapter_config.json", loraConfig()));
		const complete = await resultOf(upload(gateway, "support", "adapter_model.safetensors", loraWeights()));
		const bytes = { config: loraConfig().length, weights: loraWeights().length };
		expect(complete).toMatchObject({
			id: made.id,
			rank: 8,
			files: [
				{ name: "adapter_config.json", bytes: bytes.config },
				{ name: "adapter_model.safetensors", bytes: bytes.weights },
			],
		});
		expect(await list(gateway)).toEqual([complete]);
		expect(await gateway.services.jobs.usage("local")).toMatchObject({
			adapters: 1,
			adapterBytes: bytes.config + bytes.weights,
		});
		expect((await stored(gateway)).length).toBe(before.length + 2);
		expect(await resultOf(gateway.app.request(`${FINETUNES}/support`, { method: "DELETE" }))).toEqual({
			id: made.id,
		});
		expect(await list(gateway)).toEqual([]);
		expect((await stored(gateway)).length).toBe(before.length);
		expect(await errorOf(gateway.app.request(`${FINETUNES}/support`, { method: "DELETE" }))).toEqual({
			status: 404,
			code: 7002,
			message: "No such fine-tune: support",
		});
	});

	it("are named with the one that is meant, if the name is misspelled", async () => {
		const gateway = testGateway();
		await resultOf(create(gateway, { name: "support-tickets" }));
		const upper = gateway.app.request(`${FINETUNES}/suport-tickets`, { method: "DELETE" });
		expect((await errorOf(upper)).message).toBe(
			'No such fine-tune: suport-tickets; did you mean "support-tickets"?',
		);
	});

	it("work with the client of Cloudflare", async () => {
		const gateway = testGateway();
		const client = new Cloudflare({
			apiToken: "none",
			baseURL: BASE.slice(0, BASE.indexOf("/accounts")),
			maxRetries: 0,
			fetch: async (url: RequestInfo | URL, init?: RequestInit) =>
				gateway.app.request(url instanceof Request ? url : String(url), init),
		} as ConstructorParameters<typeof Cloudflare>[0]);
		const made = await client.ai.finetunes.create({ account_id: "local", model: MISTRAL, name: "tickets" });
		expect(made).toMatchObject({ name: "tickets", model: MISTRAL, public: false });
		const asset = await client.ai.finetunes.assets.create(made.id, {
			account_id: "local",
			file: await toFile(Buffer.from(loraConfig()), "adapter_config.json"),
			file_name: "adapter_config.json",
		});
		expect(asset).toMatchObject({ success: true });
		expect(await client.ai.finetunes.list({ account_id: "local" })).toMatchObject([{ name: "tickets" }]);
		const pages: string[] = [];
		for await (const { name } of client.ai.finetunes.public.list({ account_id: "local", limit: 2 }))
			pages.push(name);
		expect(pages).toEqual(["cf-public-magicoder", "cf-public-jigsaw-classification"]);
	});

	it("lists the public adapters of the product", async () => {
		const gateway = testGateway();
		const names = (query = "") =>
			resultOf<FineTune[]>(gateway.get(`/finetunes/public${query}`)).then((found) =>
				found.map(({ name }) => name),
			);
		const three = ["cf-public-magicoder", "cf-public-jigsaw-classification", "cf-public-cnn-summarization"];
		expect(await names()).toEqual([...three, ...three]);
		expect(await names("?offset=5")).toEqual(["cf-public-cnn-summarization"]);
		expect(await names("?limit=1&orderBy=name")).toEqual(["cf-public-cnn-summarization"]);
		expect(await errorOf(gateway.get("/finetunes/public?limit=all"))).toMatchObject({
			status: 400,
			code: 1001,
		});
	});

	it("takes an upload again until the adapter is complete, and no change after that", async () => {
		const gateway = testGateway();
		const { id } = await resultOf(create(gateway));
		const before = (await stored(gateway)).length;
		await resultOf(upload(gateway, id, "adapter_config.json", loraConfig({ r: 16 })));
		// As `wrangler` runs again after a file that was refused.
		expect((await resultOf(create(gateway, { description: "again" }))).id).toBe(id);
		await resultOf(upload(gateway, id, "adapter_config.json", loraConfig()));
		await resultOf(upload(gateway, id, "adapter_model.safetensors", loraWeights()));
		expect((await stored(gateway)).length).toBe(before + 2);
		expect(await errorOf(upload(gateway, id, "adapter_config.json", loraConfig()))).toMatchObject({
			status: 400,
			code: 1001,
			message: expect.stringContaining("cannot be changed"),
		});
		expect(await errorOf(create(gateway))).toEqual({
			status: 409,
			code: 1001,
			message: `The account has a fine-tune named "support": ${id}. Delete it, or choose another name`,
		});
	});

	it("takes one of two uploads that complete the adapter at the same time", async () => {
		const gateway = testGateway();
		const { id } = await resultOf(create(gateway));
		const before = (await stored(gateway)).length;
		await resultOf(upload(gateway, id, "adapter_config.json", loraConfig()));
		const both = await Promise.all(
			[1, 2].map(async () => (await upload(gateway, id, "adapter_model.safetensors", loraWeights())).status),
		);
		expect(both.toSorted()).toEqual([200, 400]);
		expect((await stored(gateway)).length).toBe(before + 2);
	});

	it("keeps the bytes of a file that it has, whatever fails after they are stored", async () => {
		const gateway = testGateway();
		const { services } = gateway;
		const { id } = await resultOf(create(gateway));
		await resultOf(upload(gateway, id, "adapter_config.json", loraConfig()));
		const { adapters } = services.jobs;
		let calls = 0;
		services.jobs.adapters = async (account, method) => {
			const result = await adapters.call(services.jobs, account, method);
			// The first call finds the adapter. The answer of the second one is lost.
			if (++calls === 2) throw new AiError("storageUnavailable");
			return result as never;
		};
		expect(await errorOf(upload(gateway, id, "adapter_model.safetensors", loraWeights()))).toMatchObject({
			status: 502,
		});
		const [listed] = await list(gateway);
		expect(listed?.files).toHaveLength(2);
		expect((await stored(gateway)).toSorted()).toEqual(listed?.files.map(({ bytes }) => bytes).toSorted());
	});

	it("keeps a file that replaces another one whose bytes cannot be deleted", async () => {
		const gateway = testGateway();
		const { services } = gateway;
		const { id } = await resultOf(create(gateway));
		await resultOf(upload(gateway, id, "adapter_config.json", loraConfig({ r: 4 })));
		const blobs = services.storage.blobs.bind(services.storage);
		services.storage.blobs = (account) =>
			Object.assign(blobs(account), { delete: () => Promise.reject(new AiError("storageUnavailable")) });
		const replaced = await resultOf(upload(gateway, id, "adapter_config.json", loraConfig({ r: 16 })));
		expect(replaced.rank).toBe(16);
		expect(await stored(gateway)).toHaveLength(2);
	});

	it.each([
		["no name", { name: undefined }, 400, 1001, /^name: /],
		["a name with a slash", { name: "a/b" }, 400, 1001, /^name: expected up to 128 letters/],
		[
			"a reserved name",
			{ name: "CF-Public-mine" },
			400,
			1001,
			/^name: expected a name that does not begin with cf-public-/,
		],
		[
			"a name like an id",
			{ name: "00112233-4455-6677-8899-aabbccddeeff" },
			400,
			1001,
			/^name: expected a name, found the form of an id/,
		],
		[
			"a model without adapters",
			{ model: "@cf/openai/gpt-oss-120b" },
			405,
			5005,
			/The model @cf\/openai\/gpt-oss-120b does not support LoRa inference/,
		],
	])("with %s is refused", async (_, fields, status, code, message) => {
		const gateway = testGateway();
		expect(await errorOf(create(gateway, fields))).toMatchObject({
			status,
			code,
			message: expect.stringMatching(message),
		});
		expect(await list(gateway)).toEqual([]);
	});

	it("refuses a model that no backend has, bodies without JSON, and more adapters than the account may have", async () => {
		const gateway = testGateway({
			vars: { ROUTES: { [MISTRAL]: [{ backend: "simulator" }] }, JOBS: { adapters: { max: 1 } } },
		});
		expect(await errorOf(create(gateway, { model: "@cf/nobody/nothing" }))).toMatchObject({
			status: 400,
			code: 5007,
		});
		const text = gateway.app.request(FINETUNES, { method: "POST", body: "model" });
		expect(await errorOf(text)).toMatchObject({ status: 400, code: 1001 });
		await resultOf(create(gateway));
		expect(await errorOf(create(gateway, { name: "second" }))).toEqual({
			status: 413,
			code: 3006,
			message: "The account has at most 1 fine-tunes: delete some",
		});
	});
});

describe("a file of a fine-tune", () => {
	/** The file comes before its name. */
	const reversed = (
		gateway: TestGateway,
		id: string,
		name: string,
		content: string | Uint8Array<ArrayBuffer>,
	) => {
		const body = new FormData();
		body.set("file", new Blob([content]));
		body.set("file_name", name);
		return gateway.app.request(`${FINETUNES}/${id}/finetune-assets/`, { method: "POST", body });
	};

	it("may come before its name", async () => {
		const gateway = testGateway();
		const { id } = await resultOf(create(gateway));
		await resultOf(reversed(gateway, id, "adapter_config.json", `\ufeff ${loraConfig()}`));
		expect(await resultOf(reversed(gateway, id, "adapter_model.safetensors", loraWeights()))).toMatchObject({
			rank: 8,
		});
	});

	it.each([
		[
			"another name",
			"model.safetensors",
			loraWeights(),
			400,
			'file_name: expected "adapter_config.json" or "adapter_model.safetensors", found another',
		],
		["no JSON", "adapter_config.json", "r: 8", 400, "adapter_config.json: expected JSON, found another text"],
		["no rank", "adapter_config.json", loraConfig({ r: undefined }), 400, /^adapter_config\.json: r: /],
		[
			"a rank beyond the bound",
			"adapter_config.json",
			loraConfig({ r: 64 }),
			400,
			"adapter_config.json: r: expected at most 32, found 64",
		],
		[
			"a rank of one module beyond it",
			"adapter_config.json",
			loraConfig({ rank_pattern: { q_proj: 33 } }),
			400,
			"adapter_config.json: r: expected at most 32, found 33",
		],
		[
			"no kind of model",
			"adapter_config.json",
			loraConfig({ model_type: undefined }),
			400,
			'adapter_config.json: model_type: expected "mistral", "gemma", "llama" or "qwen2", found nothing',
		],
		[
			"another kind of model",
			"adapter_config.json",
			loraConfig({ model_type: "qwen" }),
			400,
			'adapter_config.json: model_type: expected "mistral", "gemma", "llama" or "qwen2", found "qwen"; did you mean "qwen2"?',
		],
		[
			"another method",
			"adapter_config.json",
			loraConfig({ peft_type: "IA3" }),
			400,
			/^adapter_config\.json: peft_type: expected "LORA"/,
		],
		[
			"a configuration of 1 MB",
			"adapter_config.json",
			" ".repeat(1024 * 1024 + 1),
			413,
			/expected at most 1048576 bytes/,
		],
		[
			"weights that are none",
			"adapter_model.safetensors",
			"weights of nothing",
			400,
			/^adapter_model\.safetensors: expected a header of at most/,
		],
		[
			"weights that end early",
			"adapter_model.safetensors",
			loraWeights().slice(0, -1),
			400,
			/as in its header, found/,
		],
		["weights beyond the bound", "adapter_model.safetensors", loraWeights(32), 413, /larger than 2000 bytes/],
	])("with %s is refused, and nothing of it is kept", async (_, name, content, status, message) => {
		const gateway = testGateway({
			vars: { DEFAULT_BACKEND: "simulator", JOBS: { adapters: { file_bytes: 2000 } } },
		});
		const { id } = await resultOf(create(gateway));
		const before = await stored(gateway);
		for (const send of [upload, reversed]) {
			const error = await errorOf(send(gateway, id, name, content));
			expect(error.status).toBe(status);
			if (send === upload) expect(error.message).toMatch(message);
		}
		expect(await stored(gateway)).toEqual(before);
		expect((await list(gateway))[0]?.files).toEqual([]);
	});

	it("of an engine of one's own needs no kind of model", async () => {
		const gateway = testGateway({
			vars: {
				BACKENDS: { gpu: { kind: "openai", url: "http://engine/v1" } },
				ROUTES: { [MISTRAL]: [{ backend: "gpu" }] },
			},
		});
		const { id } = await resultOf(create(gateway));
		await resultOf(upload(gateway, id, "adapter_config.json", loraConfig({ model_type: undefined })));
	});

	it("must have the rank that the configuration declares, whichever comes first", async () => {
		const gateway = testGateway();
		const first = await resultOf(create(gateway, { name: "first" }));
		await resultOf(upload(gateway, first.id, "adapter_config.json", loraConfig({ r: 4 })));
		const problem = {
			status: 400,
			code: 1001,
			message:
				"adapter_model.safetensors: expected a rank of at most 4, as adapter_config.json declares, found 8",
		};
		expect(await errorOf(upload(gateway, first.id, "adapter_model.safetensors", loraWeights()))).toEqual(
			problem,
		);
		const second = await resultOf(create(gateway, { name: "second" }));
		await resultOf(upload(gateway, second.id, "adapter_model.safetensors", loraWeights()));
		expect(await errorOf(upload(gateway, second.id, "adapter_config.json", loraConfig({ r: 4 })))).toEqual(
			problem,
		);
	});

	it("needs a form with one file, and an adapter", async () => {
		const gateway = testGateway();
		const { id } = await resultOf(create(gateway));
		const form = (fields: [string, string | Blob][]) => {
			const body = new FormData();
			for (const [name, value] of fields) body.append(name, value);
			return errorOf(gateway.app.request(`${FINETUNES}/${id}/finetune-assets`, { method: "POST", body }));
		};
		const file = new Blob([loraConfig()]);
		expect(await form([])).toMatchObject({ status: 400 });
		expect(await form([["file_name", "adapter_config.json"]])).toMatchObject({
			message: "file: expected a file, found nothing",
		});
		expect(
			await form([
				["file", file],
				["file", file],
			]),
		).toMatchObject({
			message: "file: expected one file, found several",
		});
		expect(await form([["files", file]])).toMatchObject({
			message: "body: expected file_name and file, found another field",
		});
		expect(
			await form([
				["file", file],
				["file_name", "adapter_model.safetensors"],
			]),
		).toMatchObject({
			message: "file: expected adapter_model.safetensors, found adapter_config.json",
		});
		expect(await errorOf(upload(gateway, "absent", "adapter_config.json", loraConfig()))).toMatchObject({
			status: 404,
			message: "No such fine-tune: absent",
		});
		expect((await list(gateway))[0]?.files).toEqual([]);
	});
});

it("a token that may read lists fine-tunes, and only one that may write changes them", async () => {
	const gateway = closedGateway();
	const reader = await gateway.createToken(["Workers AI Read"]);
	const writer = await gateway.createToken(["Workers AI Write"]);
	const body = JSON.stringify({ model: MISTRAL, name: "support" });
	expect((await gateway.send("/ai/finetunes", reader, { method: "POST", body })).status).toBe(403);
	expect((await gateway.send("/ai/finetunes", writer, { method: "POST", body })).status).toBe(200);
	expect((await gateway.send("/ai/finetunes", reader)).status).toBe(200);
	expect((await gateway.send("/ai/finetunes/support", reader, { method: "DELETE" })).status).toBe(403);
	expect((await gateway.send("/ai/finetunes/support", writer, { method: "DELETE" })).status).toBe(200);
	expect((await gateway.send("/ai/finetunes")).status).toBe(401);
});
