import Cloudflare from "cloudflare";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PERMISSION_GROUPS, permissionsOf } from "../../../src/accounts/token-policy.ts";
import {
	ADMIN,
	type ClosedGateway,
	closedGateway,
	failureOf,
	json,
	tokenBody,
	V4,
} from "../../http/access.ts";

const READ = "a92d2450e05d4e7bb7d0a64968f83d11";
const RUN_NAME = "Workers AI Run";
const WRITE_TOKENS = "Account API Tokens Write";
const TEXT = /^glt_.+_[0-9A-Za-z]{43}$/;
const ID = /^[0-9a-f]{32}$/;
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
const LATER = "2099-01-02T03:04:05Z";

/** The published SDK, whose `fetch` calls the app in this process. */
const sdk = ({ app }: ClosedGateway, apiToken: string): Cloudflare =>
	new Cloudflare({
		apiToken,
		baseURL: V4,
		maxRetries: 0,
		fetch: async (input, init) => app.request(new Request(input as Request, init)),
	});

const policies = (account: string): Cloudflare.Accounts.TokenCreateParams["policies"] => [
	{
		effect: "allow",
		permission_groups: [{ id: READ }],
		resources: { [`com.cloudflare.api.account.${account}`]: "*" },
	},
];

it("is not created for the account that pays for shadows", async () => {
	const { app } = closedGateway();
	const response = await app.request(`${V4}/accounts/operator/tokens`, {
		...json("POST", tokenBody("operator", [RUN_NAME])),
		headers: { "content-type": "application/json", authorization: `Bearer ${ADMIN}` },
	});
	expect(await failureOf(response)).toBe(
		'400 1001: The account "operator" pays for the shadows of all accounts, so it has no tokens: use another id',
	);
});

describe("the cloudflare SDK", () => {
	it("creates, gets, updates, rolls, verifies and deletes a token", async () => {
		const gateway = closedGateway();
		const account_id = gateway.account;
		const { tokens } = sdk(gateway, ADMIN).accounts;

		const { value, ...made } = await tokens.create({
			account_id,
			name: "readonly token",
			policies: policies(account_id),
			not_before: "2020-01-01T00:00:00Z",
			expires_on: LATER,
		});
		expect(value).toMatch(TEXT);
		expect(made).toEqual({
			id: expect.stringMatching(ID),
			status: "active",
			not_before: "2020-01-01T00:00:00Z",
			expires_on: LATER,
			name: "readonly token",
			issued_on: expect.stringMatching(INSTANT),
			modified_on: made.issued_on,
			policies: [
				{
					id: expect.stringMatching(ID),
					effect: "allow",
					permission_groups: [{ id: READ, name: "Workers AI Read" }],
					resources: { [`com.cloudflare.api.account.${account_id}`]: "*" },
				},
			],
		});
		const id = made.id ?? "";
		expect(await tokens.get(id, { account_id })).toEqual(made);

		const holder = sdk(gateway, value ?? "");
		const verified = { id, status: "active", not_before: "2020-01-01T00:00:00Z", expires_on: LATER };
		expect(await holder.accounts.tokens.verify({ account_id })).toEqual(verified);
		expect(await holder.user.tokens.verify()).toEqual(verified);

		const updated = await tokens.update(id, {
			account_id,
			name: "renamed",
			status: "disabled",
			policies: policies(account_id),
		});
		expect(updated).toMatchObject({ id, name: "renamed", status: "disabled" });
		expect(updated).not.toHaveProperty("expires_on");
		await expect(holder.user.tokens.verify()).rejects.toThrow(/401.*the token is disabled/);
		await tokens.update(id, {
			account_id,
			name: "renamed",
			status: "active",
			policies: policies(account_id),
		});
		expect((await holder.user.tokens.verify()).status).toBe("active");
		expect((await tokens.get(id, { account_id })).last_used_on).toMatch(INSTANT);

		const rolled = await tokens.value.update(id, { account_id });
		expect(rolled).toMatch(TEXT);
		expect(rolled).not.toBe(value);
		await expect(holder.user.tokens.verify()).rejects.toThrow(/401.*Authentication error/);
		expect((await sdk(gateway, rolled).user.tokens.verify()).id).toBe(id);

		expect(await tokens.delete(id, { account_id })).toEqual({ id });
		await expect(sdk(gateway, rolled).user.tokens.verify()).rejects.toThrow(/401/);
		await expect(tokens.get(id, { account_id })).rejects.toThrow(/404.*Token not found/);
	});

	it("lists tokens page by page, and stops", async () => {
		const gateway = closedGateway();
		const account_id = gateway.account;
		const { tokens } = sdk(gateway, ADMIN).accounts;
		for (let n = 0; n < 7; n++)
			await tokens.create({ account_id, name: `token ${n}`, policies: policies(account_id) });
		const page = await tokens.list({ account_id, per_page: 3 });
		expect(page.result.map(({ name }) => name)).toEqual(["token 0", "token 1", "token 2"]);
		expect(page.result_info).toEqual({ page: 1, per_page: 3, count: 3, total_count: 7, total_pages: 3 });
		const names = [];
		for await (const { name } of tokens.list({ account_id, per_page: 3, direction: "desc" }))
			names.push(name);
		expect(names).toEqual([6, 5, 4, 3, 2, 1, 0].map((n) => `token ${n}`));
		expect(JSON.stringify(page.result)).not.toContain("glt_");
	});

	it("finds the permission groups, and makes a token of them", async () => {
		const gateway = closedGateway();
		const account_id = gateway.account;
		const { permissionGroups } = sdk(gateway, ADMIN).accounts.tokens;
		const groups = await permissionGroups.get({ account_id });
		expect(groups.map(({ id, name }) => `${id} ${name}`)).toEqual(
			PERMISSION_GROUPS.map(({ id, name }) => `${id} ${name}`),
		);
		expect(await permissionGroups.get({ account_id, name: "Workers AI Read" })).toEqual([
			{
				id: READ,
				name: "Workers AI Read",
				category: "ai_and_machine_learning",
				is_selectable: true,
				scopes: ["com.cloudflare.api.account"],
			},
		]);
		expect(await permissionGroups.get({ account_id, scope: "com.cloudflare.api.user" })).toEqual([]);
		const narrow = sdk(gateway, await gateway.createToken([WRITE_TOKENS, RUN_NAME]));
		const selectable = await narrow.accounts.tokens.permissionGroups.get({ account_id });
		expect(selectable.filter((group) => group.is_selectable).map(({ name }) => name)).toEqual([
			"Account API Tokens Read",
			WRITE_TOKENS,
			RUN_NAME,
		]);
	});

	it("refuses to let a token with limits of its own grant the permission to run models", async () => {
		const gateway = closedGateway();
		const account_id = gateway.account;
		const limits = { daily_neurons: 10 };
		const { tokens } = sdk(gateway, await gateway.createToken([WRITE_TOKENS, RUN_NAME], { limits })).accounts;
		const groups = await tokens.permissionGroups.get({ account_id });
		expect(groups.filter((group) => group.is_selectable).map(({ name }) => name)).toEqual([
			"Account API Tokens Read",
			WRITE_TOKENS,
		]);
		const child = { account_id, name: "child", policies: policies(account_id), limits };
		await expect(tokens.create(child)).rejects.toMatchObject({ status: 403, errors: [{ code: 10000 }] });
	});
});

describe("the token routes", () => {
	it("answer verify with the product's message", async () => {
		const { send, createToken } = closedGateway();
		const response = await send("/tokens/verify", await createToken([RUN_NAME]));
		expect(await response.json()).toEqual({
			result: { id: expect.stringMatching(ID), status: "active" },
			success: true,
			errors: [],
			messages: [{ code: 10000, message: "This API Token is valid and active", type: null }],
		});
		expect(await (await send("/tokens/verify", ADMIN)).json()).toMatchObject({
			result: { id: "operator", status: "active" },
		});
	});

	it("forbid caching of every answer", async () => {
		const { send, account } = closedGateway();
		const response = await send("/tokens", ADMIN, json("POST", tokenBody(account, [RUN_NAME])));
		expect(response.headers.get("cache-control")).toBe("no-store");
	});

	it("keep the limits of a token if an update has no limits", async () => {
		const { send, account } = closedGateway();
		const body = tokenBody(account, [RUN_NAME]);
		const limits = { daily_neurons: 0.1, monthly_neurons: 2.5, requests_per_minute: 5 };
		const { result } = await (await send("/tokens", ADMIN, json("POST", { ...body, limits }))).json<{
			result: { id: string; limits: object };
		}>();
		expect(result.limits).toEqual(limits);
		const put = async (more: object) => {
			const response = await send(`/tokens/${result.id}`, ADMIN, json("PUT", { ...body, ...more }));
			return (await response.json<{ result: { limits?: object } }>()).result.limits;
		};
		expect(await put({})).toEqual(limits);
		expect(await put({ limits: { daily_neurons: 2 } })).toEqual({ daily_neurons: 2 });
		expect(await put({ limits: null })).toBeUndefined();
	});

	it("accept their own JSON in an update", async () => {
		const { send, account } = closedGateway();
		const created = await send("/tokens", ADMIN, json("POST", tokenBody(account, [RUN_NAME])));
		const { value: _, ...body } = (await created.json<{ result: { id: string; value: string } }>()).result;
		const again = await send(`/tokens/${body.id}`, ADMIN, json("PUT", body));
		expect(await again.json()).toMatchObject({
			result: { ...body, modified_on: expect.stringMatching(INSTANT) },
		});
	});

	const account = "team_a";
	const good = tokenBody(account, [RUN_NAME]);
	const [policy] = good.policies;
	it.each<[string, unknown]>([
		["body: expected an object, found a list", []],
		["name: expected one or more characters, found none", { ...good, name: "" }],
		["policies: expected one or more, found none", { ...good, policies: [] }],
		[
			'policies[0].effect: expected "allow" or "deny", found "perhaps"',
			{ ...good, policies: [{ ...policy, effect: "perhaps" }] },
		],
		[
			"policies[0].permission_groups[0]: no such permission group; GET …/tokens/permission_groups lists them",
			{ ...good, policies: [{ ...policy, permission_groups: [{ id: "0".repeat(32) }] }] },
		],
		[
			'policies[0].permission_groups[0]: no such permission group; did you mean "Workers AI Run"?',
			{ ...good, policies: [{ ...policy, permission_groups: [{ name: "workers ai runn" }] }] },
		],
		[
			"policies[0].permission_groups[0]: its id and its name belong to different permission groups",
			{ ...good, policies: [{ ...policy, permission_groups: [{ id: READ, name: RUN_NAME }] }] },
		],
		[
			'policies[0].resources: expected {"com.cloudflare.api.account.team_a": "*"}, the only resource here',
			{ ...good, policies: [{ ...policy, resources: { "com.cloudflare.api.account.other": "*" } }] },
		],
		[
			'policies[0].resources: expected {"com.cloudflare.api.account.team_a": "*"}, the only resource here',
			{ ...good, policies: [{ ...policy, resources: {} }] },
		],
		[
			"policies[0].id: a new token cannot have the policy of another token",
			{ ...good, policies: [{ ...policy, id: "beefcafe1337beefcafe1337beefcafe" }] },
		],
		["expires_on: is in the past", { ...good, expires_on: "2020-01-01T00:00:00Z" }],
		[
			"expires_on: expected a time such as 2026-11-21T08:00:00Z, found another text",
			{ ...good, expires_on: "tomorrow" },
		],
		["not_before: is not before expires_on", { ...good, expires_on: LATER, not_before: LATER }],
		["status: expected active or disabled", { ...good, status: "expired" }],
		[
			"condition: the address of a caller is not checked here: leave the condition out",
			{ ...good, condition: { request_ip: { in: ["10.0.0.0/8"] } } },
		],
		["limits.daily_neurons: expected at least 0, found -1", { ...good, limits: { daily_neurons: -1 } }],
		[
			'limits.daily_neuron: expected no such field; did you mean "daily_neurons"?',
			{ ...good, limits: { daily_neuron: 1 } },
		],
		['expire_on: expected no such field; did you mean "expires_on"?', { ...good, expire_on: LATER }],
	])("refuse a body by its field: %s", async (message, body) => {
		const { send } = closedGateway({}, account);
		expect(await failureOf(await send("/tokens", ADMIN, json("POST", body)))).toBe(`400 1001: ${message}`);
	});

	it("report all invalid fields of a body in one message", async () => {
		const { send } = closedGateway();
		const body = { name: "", policies: [{ effect: "maybe", permission_groups: [], resources: {} }] };
		const failure = await failureOf(await send("/tokens", ADMIN, json("POST", body)));
		for (const field of ["name: ", "policies[0].effect: ", "policies[0].permission_groups: "])
			expect(failure).toContain(field);
	});

	it.each([
		["not JSON", "{", /^400 1001: the request body is not valid JSON/],
		["empty", undefined, /^400 1001: Request is missing headers or body: body$/],
		["huge", JSON.stringify("x".repeat(70_000)), /^413 1001: Request is too large: more than 65536 bytes$/],
	])("refuse a body that is %s", async (_, body, message) => {
		const { send } = closedGateway();
		const response = await send("/tokens", ADMIN, { method: "POST", ...(body && { body }) });
		expect(await failureOf(response)).toMatch(message);
	});

	it.each([
		["page=0", "page: expected a whole number from 1"],
		["per_page=51", "per_page: expected at most 50, found 51"],
		["direction=up", 'direction: expected "asc" or "desc", found "up"'],
	])("refuse the query %s", async (query, message) => {
		const { send } = closedGateway();
		expect(await failureOf(await send(`/tokens?${query}`, ADMIN))).toBe(`400 1001: ${message}`);
	});

	it("take a condition without conditions, the wildcard, and ids in capitals", async () => {
		const { send } = closedGateway();
		const body = {
			name: "t",
			condition: {},
			policies: [
				{
					effect: "allow",
					permission_groups: [{ id: READ.toUpperCase(), meta: {} }],
					resources: { "com.cloudflare.api.account.*": "*" },
				},
			],
		};
		const response = await send("/tokens", ADMIN, json("POST", body));
		expect(await response.json()).toMatchObject({
			result: { policies: [{ permission_groups: [{ id: READ, name: "Workers AI Read" }] }] },
		});
	});

	it("allow a token to make one with fewer permissions, not one with more", async () => {
		const { send, account, createToken } = closedGateway();
		const maker = await createToken([WRITE_TOKENS, RUN_NAME]);
		const made = await send("/tokens", maker, json("POST", tokenBody(account, [RUN_NAME])));
		expect(made.status).toBe(200);
		expect(
			await failureOf(await send("/tokens", maker, json("POST", tokenBody(account, ["Workers AI Read"])))),
		).toBe("403 10000: Authentication error: a token cannot give permissions that it does not have: read");
	});

	it("refuse to roll a token for a caller with fewer permissions", async () => {
		const { send, account, createToken } = closedGateway();
		const strong = await send("/tokens", ADMIN, json("POST", tokenBody(account, ["Workers AI Write"])));
		const { id } = (await strong.json<{ result: { id: string } }>()).result;
		const maker = await createToken([WRITE_TOKENS]);
		const response = await send(`/tokens/${id}/value`, maker, json("PUT", {}));
		expect(await failureOf(response)).toMatch(/^403 10000: /);
	});
});

/** Almost valid bodies: each part is either valid or any value. */
const nearlyRight = (account: string) => {
	const anything = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constant(undefined));
	const mostly = <T>(good: fc.Arbitrary<T>): fc.Arbitrary<unknown> =>
		fc.oneof({ weight: 25, arbitrary: good as fc.Arbitrary<unknown> }, { weight: 1, arbitrary: anything });
	const group = fc
		.constantFrom(...PERMISSION_GROUPS)
		.chain(({ id, name }) => fc.constantFrom({ id }, { name }));
	const policy = fc.record({
		effect: mostly(fc.constantFrom("allow", "allow", "deny")),
		permission_groups: mostly(fc.array(mostly(group), { minLength: 1, maxLength: 3 })),
		resources: mostly(
			fc.constantFrom(account, "*", "other").map((to) => ({ [`com.cloudflare.api.account.${to}`]: "*" })),
		),
	});
	return fc.record(
		{
			name: mostly(fc.string({ minLength: 1, maxLength: 20 })),
			policies: mostly(fc.array(mostly(policy), { minLength: 1, maxLength: 3 })),
			expires_on: mostly(fc.constantFrom(LATER, null)),
			not_before: mostly(fc.constantFrom("2020-01-01T00:00:00Z", null)),
			status: mostly(fc.constantFrom("active", "disabled")),
			limits: mostly(fc.record({ daily_neurons: fc.double({ min: 0, max: 100, noNaN: true }) })),
			condition: mostly(fc.constant({})),
		},
		{ requiredKeys: ["name", "policies"] },
	);
};

describe("any body", () => {
	it("is refused with a 4xx, or makes a token that may do no more than its maker", async () => {
		const gateway = closedGateway();
		const { account, send, createToken } = gateway;
		const makerGroups = [
			["Account API Tokens Write"],
			["Account API Tokens Write", "Workers AI Run"],
			["Account API Tokens Write", "Workers AI Write"],
		];
		const makers = await Promise.all(
			makerGroups.map(async (groups) => ({ text: await createToken(groups), permissions: granted(groups) })),
		);
		const target = await send("/tokens", ADMIN, json("POST", tokenBody(account, [RUN_NAME])));
		const { id } = (await target.json<{ result: { id: string } }>()).result;
		let made = 0;
		let beyondMaker = 0;
		await fc.assert(
			fc.asyncProperty(
				fc.constantFrom(...makers),
				fc.constantFrom("POST", "PUT"),
				nearlyRight(account),
				async (maker, method, body) => {
					const path = method === "POST" ? "/tokens" : `/tokens/${id}`;
					const response = await send(path, maker.text, json(method, body));
					const reply = await response.json<{
						success: boolean;
						result: { id: string; policies: Parameters<typeof permissionsOf>[0] };
						errors: { code: number; message: string }[];
					}>();
					if (response.status !== 200) {
						expect(response.status).toBeGreaterThanOrEqual(400);
						expect(response.status).toBeLessThan(500);
						expect(reply.success).toBe(false);
						expect([1001, 10000]).toContain(reply.errors[0]?.code);
						if (response.status === 403) beyondMaker++;
						return;
					}
					made++;
					const beyond = [...permissionsOf(reply.result.policies)].filter(
						(permission) => !maker.permissions.has(permission),
					);
					expect(beyond).toEqual([]);
					if (method === "POST") await send(`/tokens/${reply.result.id}`, ADMIN, { method: "DELETE" });
				},
			),
			{ numRuns: 200 },
		);
		// Otherwise the property would be vacuous.
		expect(made).toBeGreaterThan(3);
		expect(beyondMaker).toBeGreaterThan(3);
	}, 30_000);

	const granted = (groups: readonly string[]) =>
		new Set(PERMISSION_GROUPS.filter(({ name }) => groups.includes(name)).flatMap(({ grants }) => grants));
});
