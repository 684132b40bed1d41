/** The `aiGateway.dynamicRouting` resource of the published `cloudflare` SDK, and OpenAI's SDK on a dynamic route. */
import Cloudflare from "cloudflare";
import OpenAI from "openai";
import { expect, inject, it } from "vitest";
import { ACCOUNT } from "./gateway.ts";

const account_id = ACCOUNT;
const gateway_id = "routed";
const { dynamicRouting } = new Cloudflare({
	baseURL: inject("baseURL"),
	apiToken: "none",
	maxRetries: 0,
}).aiGateway;

type Elements = Cloudflare.AIGateway.DynamicRoutingCreateParams["elements"];

const to = (elementId: string) => ({ elementId });
/** Calls a model of Workers AI for the team `a`, and another model for all others. */
const byTeam = (otherModel: string): Elements => [
	{ id: "start", type: "start", outputs: { next: to("if") } },
	{
		id: "if",
		type: "conditional",
		properties: { conditions: { "metadata.team": { $eq: "a" } } },
		outputs: { true: to("first"), false: to("second") },
	},
	model("first", "@cf/meta/llama-3.3-70b-instruct-fp8-fast"),
	model("second", otherModel),
	{ id: "end", type: "end", outputs: {} },
];

const model = (id: string, name: string): Elements[number] => ({
	id,
	type: "model",
	properties: { provider: "workers-ai", model: name, timeout: 10_000, retries: 0 },
	outputs: { success: to("end"), fallback: to("end") },
});

const [qwen, kimi] = ["@cf/qwen/qwen3-30b-a3b-fp8", "@cf/moonshotai/kimi-k2.6"];

it("creates, deploys, changes and deletes a route, which OpenAI's SDK calls", async () => {
	const ids = { account_id, gateway_id };
	const created = await dynamicRouting.create(gateway_id, {
		account_id,
		name: "teams",
		elements: byTeam(qwen),
	});
	expect(created).toMatchObject({
		name: "teams",
		gateway_id,
		elements: byTeam(qwen),
		version: { active: "false" },
	});
	const { id } = created;

	const openai = new OpenAI({
		baseURL: new URL(`/v1/${account_id}/${gateway_id}/compat`, inject("baseURL")).href,
		apiKey: "none",
		maxRetries: 0,
	});
	const chat = async (team: string) => {
		const { data, response } = await openai.chat.completions
			.create(
				{ model: "dynamic/teams", messages: [{ role: "user", content: "Hi" }] },
				{ headers: { "cf-aig-metadata": JSON.stringify({ team }) } },
			)
			.withResponse();
		expect(data.choices[0]?.message.content).toEqual(expect.any(String));
		return response.headers.get("cf-aig-model");
	};
	await expect(chat("a")).rejects.toMatchObject({ status: 404 });

	const { version_id } = created.version;
	await dynamicRouting.createDeployment(id, { ...ids, version_id });
	expect(await chat("a")).toBe("@cf/meta/llama-3.3-70b-instruct-fp8-fast");
	expect(await chat("b")).toBe(qwen);

	await dynamicRouting.createVersion(id, { ...ids, elements: byTeam(kimi) });
	expect(await chat("b")).toBe(qwen);
	const { data } = await dynamicRouting.listVersions(id, ids);
	expect(data.versions.map(({ active }) => active)).toEqual(["false", "true"]);
	const newest = data.versions[0]?.version_id ?? "";
	expect(await dynamicRouting.getVersion(newest, { ...ids, id })).toMatchObject({ elements: byTeam(kimi) });
	await dynamicRouting.createDeployment(id, { ...ids, version_id: newest });
	expect(await chat("b")).toBe(kimi);
	const deployments = await dynamicRouting.listDeployments(id, ids);
	expect(deployments.data.deployments.map((deployment) => deployment.version_id)).toEqual([
		newest,
		version_id,
	]);

	const renamed = await dynamicRouting.update(id, { ...ids, name: "groups" });
	expect(renamed).toMatchObject({ success: true, route: { name: "groups", account_tag: account_id } });
	expect((await dynamicRouting.list(gateway_id, { account_id })).data.routes.map(({ name }) => name)).toEqual(
		["groups"],
	);
	expect(await dynamicRouting.get(id, ids)).toMatchObject({
		name: "groups",
		deployment: { version_id: newest },
	});
	expect(await dynamicRouting.delete(id, ids)).toMatchObject({ id, name: "groups" });
	await expect(dynamicRouting.get(id, ids)).rejects.toMatchObject({ status: 404 });
});
