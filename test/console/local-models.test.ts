/** The page of the local models, on a gateway with `--engine local`: a scripted llama-server, and a hub of the test. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { freePort } from "../../scripts/free-port.ts";
import { CLI } from "../node/cli/run.ts";
import { type Hub, REVISION, startHub } from "../node/local-engine/hub.ts";
import { runScript, type Script } from "../node/script.ts";
import { faultsOf, NARROW } from "./axe.ts";
import { openSession, openTab, shoot, WINDOW } from "./browser.ts";

const BGE = "@cf/baai/bge-small-en-v1.5";
const LLAMA = "@cf/meta/llama-3.2-1b-instruct";
const folder = mkdtempSync(join(tmpdir(), "ganglion-console-models-"));
let hub: Hub;
let gateway: Script;
let origin: string;

beforeAll(async () => {
	hub = await startHub();
	hub.files.set(
		"CompendiumLabs/bge-small-en-v1.5-gguf/bge-small-en-v1.5-q8_0.gguf",
		Buffer.from(`GGUF ${"bge".repeat(1_000)}`),
	);
	hub.files.set(
		"hugging-quants/Llama-3.2-1B-Instruct-Q4_K_M-GGUF/llama-3.2-1b-instruct-q4_k_m.gguf",
		Buffer.from("this is no model"),
	);
	const port = await freePort();
	origin = `http://127.0.0.1:${port}`;
	gateway = runScript(
		CLI,
		["dev", "--engine", "local", "--port", String(port), "--state", join(folder, "state")],
		{
			env: {
				GANGLION_MODELS: join(folder, "models"),
				GANGLION_HUB: hub.url,
				LLAMA_SERVER: resolve("test/node/local-engine/llama-server.mjs"),
			},
		},
	);
	await gateway.until(/is ready on|rror/);
});
afterAll(async () => {
	gateway.kill("SIGTERM");
	await gateway.exit;
	hub.close();
	rmSync(folder, { recursive: true, force: true });
});

it("weights are pulled with progress, loaded, tried, unloaded and removed", async () => {
	const tab = await openTab(origin, "/console/local-models", { expected: /502/ });
	const { page } = tab;
	const here = page.getByRole("region", { name: "On this machine" });
	await here.getByText("No weights are here yet.").waitFor();
	hub.fault = "silent amid";
	await page.getByRole("button", { name: `Pull ${BGE}` }).click();
	await here.getByText(/1 KB of 3\.\d+ KB/).waitFor();
	await here.getByRole("meter", { name: `Download of ${BGE}` }).waitFor();
	await here.getByRole("button", { name: `Cancel the download of ${BGE}` }).click();
	await here.getByText("No weights are here yet.").waitFor();
	hub.fault = undefined;
	await page.getByRole("button", { name: `Pull ${BGE}` }).click();
	await here.getByText("on disk").waitFor();
	await here.getByRole("button", { name: `Load ${BGE}` }).click();
	await here.getByText("loaded", { exact: true }).waitFor();
	await page
		.getByRole("region", { name: "Room" })
		.getByText(/^200 MB of /)
		.waitFor();

	// A licence is accepted once. The file is no model, so its start fails with a sentence.
	await page.getByRole("button", { name: `Pull ${LLAMA}` }).click();
	const question = page.getByRole("alertdialog");
	await question.getByText("https://", { exact: false }).waitFor();
	await question.getByRole("button", { name: "Accept and pull" }).click();
	await here.getByRole("button", { name: `Load ${LLAMA}` }).click();
	await here.getByText(`llama-server cannot load ${LLAMA}: check its files`).waitFor();

	// The hub has no such file: the sentence names what it lacks.
	await page.getByRole("button", { name: "Pull SmolLM2-360M-Instruct" }).click();
	await page.getByText("The hub 127.0.0.1", { exact: false }).first().waitFor();
	expect(await faultsOf(page)).toEqual([]);
	await shoot(page, "local-models-1280-light");
	await page.emulateMedia({ colorScheme: "dark" });
	expect(await faultsOf(page)).toEqual([]);
	await page.setViewportSize(NARROW);
	expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(360);
	await shoot(page, "local-models-360-dark");
	await page.setViewportSize(WINDOW);

	await here.getByRole("button", { name: `Unload ${BGE}` }).click();
	await here.getByRole("button", { name: `Load ${BGE}` }).waitFor();
	await here.getByRole("button", { name: `Remove ${LLAMA}` }).click();
	await page.getByRole("alertdialog").getByRole("button", { name: "Remove" }).click();
	await page.getByRole("button", { name: `Pull ${LLAMA}` }).waitFor();
	await here.getByRole("link", { name: `Try ${BGE}` }).click();
	await page.getByRole("combobox", { name: "Model" }).getByText(BGE, { exact: true }).waitFor();

	// The plan of a model, and the routes, name its weights.
	const label = new RegExp(`CompendiumLabs/bge-small-en-v1\\.5-gguf@${REVISION}; quantised`);
	await page.goto(`${origin}/console/models/${BGE}`);
	await page.getByRole("region", { name: "Engines" }).getByText(label).waitFor();
	await page.goto(`${origin}/console/engines`);
	await page.getByText(label).first().waitFor();
	await tab.close();
});

it("without --engine local, the page says how to start it", async () => {
	const tab = await openSession("dev", "/console/local-models");
	await tab.page.getByText("No models run on this machine.").waitFor();
	expect(await faultsOf(tab.page)).toEqual([]);
	await tab.close();
});
