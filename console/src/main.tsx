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

const RELOADED_KEY = "ganglion-reloaded";
const RELOAD_PAUSE_MS = 10_000;

// A new deployment has replaced the files that this page would load, or the gateway does not answer: then the page shows the error.
addEventListener("vite:preloadError", () => {
	if (Date.now() - Number(sessionStorage.getItem(RELOADED_KEY)) < RELOAD_PAUSE_MS) return;
	fetch(location.pathname).then(
		({ ok }) => {
			if (!ok) return;
			sessionStorage.setItem(RELOADED_KEY, String(Date.now()));
			location.reload();
		},
		() => {},
	);
});

const root = document.getElementById("root");
if (root)
	createRoot(root).render(
		<StrictMode>
			<App />
		</StrictMode>,
	);
