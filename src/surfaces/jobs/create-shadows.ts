/** The shadows of this process. What runs one loads with the first. */
import { Shadows } from "../../gateways/run/shadows.ts";
import type { Background } from "../../http/background.ts";
import type { AppServices } from "../services.ts";

export function createShadows(background: Background): Shadows<AppServices> {
	const shadows = new Shadows<AppServices>(async () => (await import("./run-shadow.ts")).runShadow);
	background.onClose(async () => shadows.close());
	return shadows;
}
