import { CopyButton } from "./copy-button.tsx";

/** Preformatted text with a button that copies it. */
export function Code({ label, text }: { label: string; text: string }) {
	return (
		<div className="code">
			{/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it. */}
			<section className="code-text" tabIndex={0} aria-label={label}>
				<pre>{text}</pre>
			</section>
			<CopyButton label={`Copy ${label}`} text={text} />
		</div>
	);
}
