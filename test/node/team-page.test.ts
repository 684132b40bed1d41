/** The walk of docs/team.md: its commands, as they stand there, against a started gateway. */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freePort } from "../../scripts/free-port.ts";
import { CLI } from "./cli/run.ts";
import { runScript, type Script } from "./script.ts";

const ADMIN_TOKEN = "an-admin-token-of-a-test-with-32-characters";
const [start = "", names = "", ...steps] = [
	...readFileSync("docs/team.md", "utf8").matchAll(/^```sh\n(.*?)^```/gms),
].map(([, commands = ""]) => commands);
/** The built command without npm, and answers one after the other. */
const COMMANDS = `
npx() { shift; "${process.execPath}" "${CLI}" "$@"; }
curl() { command curl -sS -w '\\n' "$@"; }
`;
const MARK = "== the next step";

describe("the walk for a team", () => {
	const folder = mkdtempSync(join(tmpdir(), "ganglion-team-"));
	let gateway: Script;
	let outputs: string[] = [];

	beforeAll(async () => {
		const port = await freePort();
		const [, ROUTES = ""] = /^export ROUTES='(.*)'$/m.exec(start) ?? [];
		expect(start).toMatch(/^export ADMIN_TOKEN=[\s\S]*^npm run serve$/m);
		gateway = runScript(CLI, ["serve", "--port", String(port), "--state", join(folder, "state")], {
			env: { ADMIN_TOKEN, ROUTES },
		});
		expect(await gateway.until(/Open files|error/)).toContain("is ready");
		const walk = [names.replace("8787", String(port)), ...steps].join(`\necho "${MARK}"\n`);
		const { stdout } = await promisify(execFile)("bash", ["-c", `exec 2>&1\n${COMMANDS}${walk}`], {
			env: { ...process.env, ADMIN_TOKEN, NO_COLOR: "1" },
		});
		outputs = stdout.split(`${MARK}\n`).slice(1);
	});
	afterAll(async () => {
		gateway.kill("SIGTERM");
		await gateway.exit;
		rmSync(folder, { recursive: true, force: true });
	});

	it("makes a gateway with rules, and binds the account to it", () => {
		const [made, bound] = outputs[0]?.trim().split("\n") ?? [];
		expect(JSON.parse(made ?? "")).toMatchObject({
			...{ success: true, messages: [] },
			result: {
				id: "prod",
				rate_limiting_limit: 100,
				dlp: { enabled: true },
				spend_limits: { enabled: true },
			},
		});
		expect(JSON.parse(bound ?? "")).toMatchObject({
			result: { id: "prod", mode: "required", metadata: { team: "a" } },
		});
	});

	it("makes tokens with budgets", () => {
		expect(outputs[1]).toMatch(/^shop .* 0 of 5000 neurons a day +prod \(required, of the account\) /m);
		expect(outputs[1]).toMatch(/^search .* 0 of 20 neurons a day /m);
	});

	it("refuses what a rule forbids, and what the budget does not pay", () => {
		const lines = outputs[2]?.trim().split("\n") ?? [];
		expect(lines[0]).toMatch(/^Simulated reply .* "Hello"\.$/);
		expect(lines[2]).toContain("[code: 2029] (HTTP 400)");
		expect(lines[3]).toContain("Simulated reply");
		expect(lines[6]).toMatch(/^\(cut at the output limit, 9 \+ 19 tokens, /);
		expect(lines.at(-1)).toContain("[code: 3036] (HTTP 429)");
	});

	it("shows the bill and the refusals", () => {
		const [usage = "", csv = ""] = outputs[3]?.split("\ntoken,requests,") ?? [];
		expect(usage).toMatch(/^shop .* 1 +0 +8 +0 +39 +8\.200739$/m);
		expect(usage).toMatch(/^search \(/m);
		expect(csv).toMatch(/^[0-9a-f]{32},1,0,8,0,39,8\.200739,/m);
		expect(csv).toContain('"success":true');
		expect(csv).toMatch(/"status_code":(?:429|400)/);
	});

	it("has the budgets and the refusals of rules as metrics", () => {
		expect(outputs[4]).toMatch(/^ganglion_daily_budget_neurons\{.*name="search"\} 20$/m);
		expect(outputs[4]).toMatch(/^ganglion_daily_spent_neurons\{.*name="shop"\} 8\.200739$/m);
		expect(outputs[4]).toContain('reason="dlp_request"} 1');
	});
});
