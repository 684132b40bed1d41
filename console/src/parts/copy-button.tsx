import { Button } from "@cloudflare/kumo/components/button";
import { useState } from "react";

const SHOWN_MS = 2_000;

export function CopyButton({ label, text }: { label: string; text: string }) {
	const [copied, setCopied] = useState(false);
	async function copy(): Promise<void> {
		await navigator.clipboard.writeText(text);
		setCopied(true);
		setTimeout(() => setCopied(false), SHOWN_MS);
	}
	return (
		<Button size="sm" aria-label={label} onClick={() => void copy()}>
			{copied ? "Copied" : "Copy"}
		</Button>
	);
}
