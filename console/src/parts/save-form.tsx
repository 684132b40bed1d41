/** A form that is sent once at a time. A failure is shown above it, and its fields stay. */
import { Button } from "@cloudflare/kumo/components/button";
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { errorOf } from "../api/error-of.ts";
import { Failure } from "./failure.tsx";
import { focusIfLost } from "./focus.ts";
import { Section } from "./page.tsx";

interface Props {
	title: string;
	/** The text of the button that sends the form. */
	button: string;
	/** Default: true. */
	isReady?: boolean;
	/** While the form is being sent. */
	status?: ReactNode;
	onSend(): Promise<void>;
	onCancel(): void;
	children: ReactNode;
}

export function SaveForm({ title, button, isReady = true, status, onSend, onCancel, children }: Props) {
	const [isSending, setIsSending] = useState(false);
	const [error, setError] = useState<Error>();
	const form = useRef<HTMLFormElement>(null);
	useEffect(
		() => form.current?.querySelector<HTMLElement>("input, textarea")?.focus({ preventScroll: true }),
		[],
	);

	// The button was disabled until the answer.
	useEffect(() => {
		if (error && !isSending) focusIfLost(form.current?.querySelector<HTMLElement>("[type=submit]"));
	}, [error, isSending]);

	async function submit(event: FormEvent): Promise<void> {
		event.preventDefault();
		if (!isReady) return;
		setError(undefined);
		setIsSending(true);
		try {
			await onSend();
		} catch (failure) {
			setError(errorOf(failure));
			setIsSending(false);
		}
	}

	return (
		<Section title={title}>
			{error && <Failure error={error} />}
			<form className="stack" ref={form} onSubmit={(event) => void submit(event)}>
				{children}
				<div className="buttons">
					<Button type="submit" variant="primary" disabled={!isReady || isSending}>
						{button}
					</Button>
					<Button type="button" onClick={onCancel}>
						Cancel
					</Button>
					<span role="status">{isSending && status}</span>
				</div>
			</form>
		</Section>
	);
}
