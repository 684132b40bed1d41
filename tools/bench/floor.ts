/** A Worker of a few lines that passes everything on to an address: what the runtime itself takes. */
import { join } from "node:path";
import { singleModule, type WorkerSpec } from "../../scripts/workerd.ts";

export const floorSpec = (upstream: string): WorkerSpec => ({
	name: "floor",
	modules: singleModule(join(import.meta.dirname, "floor.js")),
	vars: { UPSTREAM: upstream },
	compatibilityDate: "2026-11-01",
});
