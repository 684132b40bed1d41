import { Button } from "@cloudflare/kumo/components/button";
import { useState } from "react";

const SHOWN_MS = 2_000;
const TITLES = { ready: "Copy", copied: "Copied", failed: "Not copied" } as const;

export function CopyButton({ label, text }: { label: string; text: string }) {
	const [state, setState] = useState<keyof typeof TITLES>("ready");
	async function copy(): Promise<void> {
		setState((await copyText(text)) ? "copied" : "failed");
		setTimeout(() => setState("ready"), SHOWN_MS);
	}
	return (
		<Button size="sm" aria-label={label} onClick={() => void copy()}>
			<span aria-live="polite">{TITLES[state]}</span>
		</Button>
	);
}

/** Browsers have `navigator.clipboard` only on https and localhost. Elsewhere the text of a hidden field is copied. */
async function copyText(text: string): Promise<boolean> {
	try {
		await navigator.clipboard.writeText(text);
		return true;
	} catch {
		const field = document.createElement("textarea");
		field.value = text;
		field.className = "hidden";
		document.body.append(field);
		field.select();
		const copied = document.execCommand("copy");
		field.remove();
		return copied;
	}
}
