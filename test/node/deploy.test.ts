/** The files of `deploy/`: they parse, their commands exist, and their metrics are those of a running gateway. */
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import * as z from "zod";
import { program } from "../../cli/program.ts";
import { freePort } from "../../scripts/free-port.ts";
import { configure, describeRouting } from "../../src/config/index.ts";
import { poolMetrics } from "../../src/surfaces/operations/pool-metrics.ts";
import { CLI } from "./cli/run.ts";
import { runScript, type Script } from "./script.ts";

const ADMIN_TOKEN = "an-admin-token-of-a-test-with-32-characters";
const MODEL = "@cf/meta/llama-3.3-70b-instruct-fp8-fast";
const text = (name: string): string => readFileSync(join("deploy", name), "utf8");

const Rules = z.object({
	groups: z.array(
		z.object({
			rules: z.array(
				z.object({ alert: z.string(), expr: z.string(), annotations: z.object({ summary: z.string() }) }),
			),
		}),
	),
});
const Dashboard = z.object({
	templating: z.object({ list: z.array(z.object({ query: z.string() })) }),
	panels: z.array(
		z.object({ id: z.number(), title: z.string(), targets: z.array(z.object({ expr: z.string() })).min(1) }),
	),
});

const rules = Rules.parse(parse(text("prometheus/alerts.yaml"))).groups.flatMap((group) => group.rules);
const dashboard = Dashboard.parse(JSON.parse(text("grafana/ganglion.json")));

const metricsIn = (expressions: readonly string[]): string[] =>
	[...new Set(expressions.flatMap((expression) => expression.match(/\bganglion_\w+/g) ?? []))].sort();

/** The name of a histogram, of the name of its sample. */
const baseOf = (name: string): string => name.replace(/_seconds_(?:bucket|sum|count)$/, "_seconds");

/** A stream that arrives at once has no first token of its own. */
const BETWEEN_PARTS_MS = 20;
const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;

const engine = createServer((request, response) => {
	request.resume();
	response.setHeader("content-type", "text/event-stream");
	response.write(event({ choices: [{ index: 0, delta: { content: "Hi" }, finish_reason: null }] }));
	const end = {
		choices: [{ index: 0, delta: {}, finish_reason: "stop" }],
		usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
	};
	setTimeout(() => response.end(`${event(end)}data: [DONE]\n\n`), BETWEEN_PARTS_MS);
});
let folder = "";
let url = "";
let server: Script;
beforeAll(async () => {
	engine.listen(0, "127.0.0.1");
	await once(engine, "listening");
	folder = mkdtempSync(join(tmpdir(), "ganglion-deploy-"));
	const port = await freePort();
	url = `http://127.0.0.1:${port}`;
	const engineUrl = `http://127.0.0.1:${(engine.address() as AddressInfo).port}/v1`;
	const flags = ["--state", join(folder, "state")];
	server = runScript(CLI, ["serve", "--port", String(port), ...flags], {
		env: {
			ADMIN_TOKEN,
			BACKENDS: JSON.stringify({
				gpu: { kind: "openai", urls: [engineUrl, `${engineUrl}/v1`], pool: { max_requests: 8 } },
			}),
			ROUTES: '{"*":[{"backend":"gpu","model":"llama"}]}',
			LIMITS: JSON.stringify({
				...{
					daily_neurons: 100_000,
					monthly_neurons: 1_000_000,
					requests_per_minute: { "Text Generation": 1 },
				},
				// No disk has so many free bytes, so logs are dropped.
				disk_reserve_bytes: 1e15,
			}),
		},
	});
	expect(await server.until(/Open files|error/)).toContain("is ready");
});
afterAll(async () => {
	server.kill("SIGTERM");
	await server.exit;
	engine.closeAllConnections();
	engine.close();
	rmSync(folder, { recursive: true, force: true });
});

const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };

describe("alert rules and dashboard", () => {
	it("name only metrics and labels that a gateway has, and nearly all of them", async () => {
		const account = `${url}/client/v4/accounts/acme`;
		const post = (path: string, body: object, more = {}) =>
			fetch(account + path, { method: "POST", headers: { ...headers, ...more }, body: JSON.stringify(body) });
		const dlp = { enabled: true, action: "BLOCK", profiles: ["credit_card"] };
		// No server has this name.
		const otel = [{ url: "https://collector.example/v1/traces" }];
		expect((await post("/ai-gateway/gateways", { id: "prod", cache_ttl: 60, dlp, otel })).status).toBe(200);
		const inGateway = { "cf-aig-gateway-id": "prod", "cf-aig-custom-cost": '{"total_cost":0.5}' };
		const prompt = { prompt: "hi", stream: true };
		const blocked = { prompt: "card 4111 1111 1111 1111" };
		for (const [body, status] of [
			[blocked, 400],
			[prompt, 200],
			[{ ...prompt, prompt: "hello" }, 429],
		] as const) {
			const response = await post(`/ai/run/${MODEL}`, body, inGateway);
			expect(response.status).toBe(status);
			await response.text();
		}
		const samples = async (): Promise<[name: string, labels: string][]> => {
			const page = await (await fetch(`${url}/metrics`, { headers })).text();
			return [...page.matchAll(/^(\w+)(?:\{(.*)\})? /gm)].map(([, name = "", labels = ""]) => [name, labels]);
		};
		// Refusals are counted within five seconds, and the guard reports as often.
		await expect
			.poll(async () => (await samples()).map(([name]) => name), { timeout: 20_000 })
			.toEqual(
				expect.arrayContaining([
					...["ganglion_refused_requests_total", "ganglion_dropped_exports_total"],
					...["ganglion_dropped_logs_total", "ganglion_separated_requests_total"],
				]),
			);
		const labelsOf = new Map<string, Set<string>>();
		for (const [name, labels] of await samples())
			labelsOf.set(
				name,
				new Set([
					...(labelsOf.get(name) ?? []),
					...[...labels.matchAll(/(\w+)="/g)].map(([, label]) => label ?? ""),
				]),
			);
		const panels = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
		const variables = dashboard.templating.list.map(({ query }) => query);
		const alerts = rules.map(({ expr }) => expr);
		for (const expression of [...panels, ...variables, ...alerts])
			for (const name of metricsIn([expression])) expect([...labelsOf.keys()], expression).toContain(name);
		for (const expression of [...panels, ...alerts])
			for (const [, name = "", selector = ""] of expression.matchAll(/\b(ganglion_\w+)\{(.*?)\}/g))
				for (const [, label = ""] of selector.matchAll(/(\w+)=/g))
					expect(labelsOf.get(name), expression).toContain(label);
		const isShown = new Set([...metricsIn(panels), ...metricsIn(variables)].map(baseOf));
		const hidden = [...new Set([...labelsOf.keys()].map(baseOf))].filter((name) => !isShown.has(name));
		// For autoscalers.
		expect(hidden.sort()).toEqual(
			["expected_ttft_seconds", "inflight_decode_tokens", "inflight_prefill_tokens", "waiting_tokens"].map(
				(name) => `ganglion_pool_${name}`,
			),
		);
	});

	it("of what the process holds are those of docs/security.md", async () => {
		const [, table = ""] =
			/^\| Class .*\n\| -.*\n([\s\S]*?)\n\n/m.exec(readFileSync("docs/security.md", "utf8")) ?? [];
		const documented = [...table.matchAll(/^\| `(\w+)`/gm)].map(([, name = ""]) => name);
		// The connection guard and the watch of the disk report theirs every few seconds.
		for (const metric of ["held", "held_limit", "held_refused_total"])
			await expect
				.poll(
					async () => {
						const page = await (await fetch(`${url}/metrics`, { headers })).text();
						const samples = page.matchAll(new RegExp(`^ganglion_${metric}\\{.*class="(\\w+)"`, "gm"));
						return [...new Set([...samples].map(([, name]) => name))].sort();
					},
					{ timeout: 20_000 },
				)
				.toEqual(documented.sort());
	});

	it("have balanced expressions and names of their own", () => {
		const expressions = [
			...rules.map(({ expr }) => expr),
			...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
		];
		for (const expression of expressions)
			for (const [open, close] of ["()", "{}", "[]"])
				expect(expression.split(open ?? "").length, expression).toBe(expression.split(close ?? "").length);
		for (const names of [rules.map(({ alert }) => alert), dashboard.panels.map(({ id }) => String(id))])
			expect(new Set(names).size).toBe(names.length);
	});
});

describe("autoscalers of engines", () => {
	const stage = { active: ["http://gpu-1"], draining: 0, requests: 1, prefillTokens: 1, decodeTokens: 1 };
	const gate = { waiting: 1, waitingTokens: 1, oldestMs: 1, refused: { full: 1, timeout: 1, drained: 0 } };
	const names = poolMetrics([{ ...stage, backend: "vllm", incoming: 1, gate }], []).map(
		({ name }) => `ganglion_${name}`,
	);
	const documents = (name: string) => parseAllDocuments(text(`kubernetes/${name}`)).map((one) => one.toJS());

	it("of KEDA query metrics that pools have", () => {
		const [scaled] = documents("keda-engines.yaml");
		expect([scaled.kind, scaled.spec.minReplicaCount]).toEqual(["ScaledObject", 0]);
		const queries: string[] = scaled.spec.triggers.map(
			({ metadata }: { metadata: { query: string } }) => metadata.query,
		);
		expect(queries).toHaveLength(3);
		for (const query of queries) {
			const used = metricsIn([query]);
			expect(used).toHaveLength(1);
			expect(names).toEqual(expect.arrayContaining(used));
			expect(query).toContain('{backend="vllm"}');
		}
	});

	it("of the HorizontalPodAutoscaler use metrics that its adapter serves", () => {
		const [autoscaler, rules] = documents("hpa-engines.yaml");
		const used: string[] = autoscaler.spec.metrics.map(
			({ external }: { external: { metric: { name: string } } }) => external.metric.name,
		);
		expect(used).toEqual(["ganglion_pool_waiting_requests", "ganglion_pool_inflight_prefill_tokens"]);
		expect(names).toEqual(expect.arrayContaining(used));
		const [rule] = parse(rules.data["config.yaml"]).externalRules;
		const [, pattern = ""] = /__name__=~"(.*)"/.exec(rule.seriesQuery) ?? [];
		expect(names.filter((name) => new RegExp(pattern).test(name)).sort()).toEqual([...used].sort());
	});
});

/** Options of `ganglion serve`. */
const serveOptions = program("", {}, () => {})
	.commands.find((command) => command.name() === "serve")
	?.options.map(({ long }) => long);

describe("supervisors", () => {
	it("start the gateway with options that it has", () => {
		const [, unit = ""] = /^ExecStart=(.*)$/m.exec(text("ganglion.service")) ?? [];
		const entrypoint = JSON.parse(/^ENTRYPOINT (.*)$/m.exec(text("docker/Dockerfile"))?.[1] ?? "");
		for (const command of [unit.split(" "), z.array(z.string()).parse(entrypoint)]) {
			expect(command).toContain("serve");
			const options = command.filter((argument) => argument.startsWith("--"));
			expect(options.length).toBeGreaterThan(2);
			expect(serveOptions).toEqual(expect.arrayContaining(options));
		}
	});

	it.each([
		[
			"systemd",
			() => {
				const unit = text("ganglion.service");
				const [, command = ""] = /^ExecStart=\S+ serve (.*)$/m.exec(unit) ?? [];
				return [command, /^Environment=WORKERS=(\d+)$/m.exec(unit)?.[1]];
			},
		],
		[
			"Compose",
			() => {
				const command: string[] = parse(text("docker/compose.yaml")).services.gateway.command;
				const [, name, number] = /^\$\{(\w+):-(\d+)\}$/.exec(command[1] ?? "") ?? [];
				return [[command[0], `$${name}`].join(" "), number];
			},
		],
	])("of %s start the number of workers that they are told, one without it", (_, read) => {
		const [command = "", number = ""] = read();
		expect(command).toMatch(/(?:^| )--workers \$WORKERS$/);
		expect(number).toBe("1");
	});

	it("of Kubernetes start one worker, unless the manifest is changed", () => {
		const [, set] = parseAllDocuments(text("kubernetes/gateway.yaml")).map((one) => one.toJS());
		expect(set.spec.template.spec.containers[0].args).toEqual(["--workers", "1"]);
	});

	it("wait for running answers, and allow as many files as the gateway uses", () => {
		const unit = text("ganglion.service");
		expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1])).toBeGreaterThan(60);
		expect(unit).toMatch(/^LimitNOFILE=65536$/m);
		const { services, volumes } = parse(text("docker/compose.yaml"));
		expect(Number.parseInt(services.gateway.stop_grace_period, 10)).toBeGreaterThan(60);
		expect(services.gateway.ulimits.nofile).toEqual({ soft: 65_536, hard: 65_536 });
		expect(services.gateway.volumes).toEqual(["state:/state"]);
		expect(Object.keys(volumes)).toEqual(["state", "models"]);
		for (const name of ["BACKENDS", "ROUTES"])
			expect(JSON.parse(services.gateway.environment[name])).toBeTypeOf("object");
	});

	it("of Kubernetes give the gateway the time, the probes and the disk that it needs", async () => {
		const [settings, set, service] = parseAllDocuments(text("kubernetes/gateway.yaml")).map((one) =>
			one.toJS(),
		);
		const { spec: pod } = set.spec.template;
		const [container] = pod.containers;
		const wait = Number(container.lifecycle.preStop.exec.command[1]);
		expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(60 + wait + 10);
		expect(set.spec.replicas).toBe(1);
		for (const [probe, path] of [
			["startupProbe", "/health"],
			["livenessProbe", "/health"],
			["readinessProbe", "/ready"],
		] as const) {
			expect(container[probe].httpGet).toEqual({ path, port: "http" });
			expect((await fetch(url + path)).status).toBe(200);
		}
		expect(container.ports).toEqual([{ name: "http", containerPort: 8787 }]);
		expect([service.spec.ports[0].targetPort, service.spec.selector]).toEqual([
			"http",
			set.spec.selector.matchLabels,
		]);
		expect(container.volumeMounts.map(({ mountPath }: { mountPath: string }) => mountPath)).toEqual([
			"/state",
			"/etc/ganglion",
			"/tmp",
		]);
		const { vars } = JSON.parse(settings.data["ganglion.jsonc"]);
		expect(describeRouting(configure(vars))[0]).toContain("vllm (http://vllm:8000/v1)");
	});

	it("check the health at an address that answers", async () => {
		const [, path = ""] =
			/fetch\('http:\/\/127\.0\.0\.1:8787(\/\w+)'\)/.exec(text("docker/Dockerfile")) ?? [];
		expect((await fetch(url + path)).status).toBe(200);
	});
});
