/** The rates of `toMarkdown` and of the routes that count tokens, at every entry point. */
import { describe, expect, it } from "vitest";
import { newTokenText } from "../../src/accounts/token-text.ts";
import { wireOf } from "../../src/surfaces/binding/binding.ts";
import { ToMarkdownService } from "../../src/surfaces/markdown/markdown.ts";
import { ADMIN, type ClosedGateway, closedGateway, failureOf, json } from "../http/access.ts";

const LLAMA = "@cf/meta/llama-3.1-8b-instruct-fp8";
const LIMITED = { requests_per_minute: { "Markdown Conversion": 2, "Token Count": 2 } };
const MESSAGES = [{ role: "user", content: "hi" }];
const COUNT = json("POST", { model: LLAMA, messages: MESSAGES });

const form = (): RequestInit => {
	const body = new FormData();
	body.append("files", new File(["a,b"], "a.csv", { type: "text/csv" }));
	return { method: "POST", body };
};

const gateway = (LIMITS: object = LIMITED): ClosedGateway =>
	closedGateway({ vars: { DEFAULT_BACKEND: "simulator", LIMITS } });

const wire = ({ services, account }: ClosedGateway): Promise<Response> =>
	Promise.resolve(
		wireOf(services).fetch(
			new Request("https://workers-binding.ai/to-everything/markdown/transformer", {
				...json("POST", { files: [{ name: "a.csv", mimeType: "text/csv", data: btoa("a,b") }] }),
			}),
			{ caller: { account, credential: { kind: "operator" }, verified: true } },
		),
	);

describe.each<[string, string, (closed: ClosedGateway, token: string) => Promise<Response>]>([
	["/ai/tomarkdown", "Markdown Conversion", ({ send }, token) => send("/ai/tomarkdown", token, form())],
	["the binding's toMarkdown", "Markdown Conversion", wire],
	[
		"messages/count_tokens",
		"Token Count",
		({ send }, token) => send("/ai/v1/messages/count_tokens", token, COUNT),
	],
	[
		"v1/messages/count_tokens",
		"Token Count",
		({ send }, token) => send("/ai/v1/v1/messages/count_tokens", token, COUNT),
	],
	[
		"responses/input_tokens",
		"Token Count",
		({ send }, token) =>
			send("/ai/v1/responses/input_tokens", token, json("POST", { model: LLAMA, input: "hi" })),
	],
	[
		"countTokens",
		"Token Count",
		({ send }, token) =>
			send(
				`/ai/v1beta/models/${LLAMA}:countTokens`,
				token,
				json("POST", { contents: [{ role: "user", parts: [{ text: "hi" }] }] }),
			),
	],
])("%s", (_, task, send) => {
	it("accepts as many requests in a minute as the limit allows", async () => {
		const closed = gateway();
		const token = await closed.createToken(["Workers AI Read"]);
		const answers = await Promise.all(Array.from({ length: 5 }, () => send(closed, token)));
		expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 429, 429, 429]);
		const refused = answers.find(({ status }) => status === 429);
		const wait = Number(refused?.headers.get("retry-after"));
		expect(wait).toBeGreaterThan(50);
		const rates = ["limit", "remaining", "reset"].map((name) =>
			refused?.headers.get(`x-ratelimit-${name}-requests`),
		);
		expect(rates).toEqual(["2", "0", `${wait}s`]);
		const report = await closed.services.ledgers.of(closed.account).refusals({ by: ["code", "task"] });
		expect(report.rows).toEqual([{ code: 3021, task, requests: 3 }]);
	});

	it("also counts the operator's requests", async () => {
		const closed = gateway();
		for (const status of [200, 200, 429]) expect((await send(closed, ADMIN)).status).toBe(status);
	});

	it("has no limit without rates", async () => {
		const closed = gateway({ requests_per_minute: "none" });
		for (let i = 0; i < 4; i++) expect((await send(closed, ADMIN)).status).toBe(200);
	});
});

describe("the rates of requests that run no model", () => {
	it("are refused like other rates", async () => {
		const { send } = gateway({ requests_per_minute: { "Token Count": 1, "Markdown Conversion": 1 } });
		const refused = async (path: string, init: () => RequestInit): Promise<string> => {
			await send(path, ADMIN, init());
			return failureOf(await send(path, ADMIN, init()));
		};
		const sentence = "rate limiting: inference request per min rate reached";
		expect(await refused("/ai/v1/messages/count_tokens", () => COUNT)).toBe(
			`429 rate_limit_error: ${sentence}: the limit of the account for Token Count is 1 per minute`,
		);
		expect(await refused("/ai/tomarkdown", form)).toMatch(
			new RegExp(
				`^429 3021: AiError: AiError: ${sentence}: the limit of the account for Markdown Conversion is 1 per minute \\([0-9a-f-]{36}\\)$`,
			),
		);
	});

	it("can be set for one account", async () => {
		const closed = closedGateway(
			{ vars: { DEFAULT_BACKEND: "simulator", LIMITS: { ...LIMITED, accounts: { [ACCOUNT]: OWN } } } },
			ACCOUNT,
		);
		for (const status of [200, 429])
			expect((await closed.send("/ai/v1/messages/count_tokens", ADMIN, COUNT)).status).toBe(status);
	});

	it("do not count requests of a token that is invalid or may not run models", async () => {
		const { account, send, createToken } = gateway();
		const count = async (token: string) => (await send("/ai/v1/messages/count_tokens", token, COUNT)).status;
		const keeper = await createToken(["Account API Tokens Read"]);
		for (let i = 0; i < 3; i++)
			expect([await count(newTokenText(account)), await count(keeper)]).toEqual([401, 403]);
		expect([await count(ADMIN), await count(ADMIN), await count(ADMIN)]).toEqual([200, 200, 429]);
	});

	it("apply over RPC", async () => {
		const { services, account } = gateway();
		const caller = { account, credential: { kind: "operator" }, verified: true } as const;
		const convert = () =>
			new ToMarkdownService(caller, services).transform({ name: "a.csv", blob: new Blob(["a,b"]) });
		await convert();
		await convert();
		await expect(convert()).rejects.toThrow("3021");
	});
});

const ACCOUNT = `counted-${crypto.randomUUID().slice(0, 8)}`;
const OWN = { requests_per_minute: { "Token Count": 1 } };
