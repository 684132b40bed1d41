import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import "@cloudflare/kumo/styles/standalone";
import "./style.css";

/** The library reads the mode from this attribute. */
const dark = matchMedia("(prefers-color-scheme: dark)");
const applyMode = (): void => {
	document.documentElement.dataset.mode = dark.matches ? "dark" : "light";
};
dark.addEventListener("change", applyMode);
applyMode();

// A new deployment has replaced the files that this page would load.
addEventListener("vite:preloadError", () => location.reload());

const root = document.getElementById("root");
if (root)
	createRoot(root).render(
		<StrictMode>
			<App />
		</StrictMode>,
	);
