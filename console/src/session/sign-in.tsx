import { Banner } from "@cloudflare/kumo/components/banner";
import { Button } from "@cloudflare/kumo/components/button";
import { Input } from "@cloudflare/kumo/components/input";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { ApiError } from "../api/client.ts";
import icon from "../icon.svg";
import { content } from "../parts/focus.ts";
import { openSession, type Session } from "./session.ts";

interface Props {
	/** Why the last session ended. */
	notice?: string | undefined;
	onSession(session: Session): void;
}

export function SignIn({ notice, onSession }: Props) {
	const [token, setToken] = useState("");
	const [problem, setProblem] = useState(notice);
	const [checking, setChecking] = useState(false);
	const form = useRef<HTMLFormElement>(null);
	useEffect(() => {
		focusIn(form.current);
		return () => content()?.focus();
	}, []);

	async function submit(event: FormEvent): Promise<void> {
		event.preventDefault();
		setChecking(true);
		try {
			onSession(await openSession(token.trim()));
		} catch (error) {
			setProblem(
				error instanceof ApiError && error.status !== 401
					? error.message
					: "The gateway does not accept this token.",
			);
			setChecking(false);
			focusIn(form.current);
		}
	}

	return (
		<main className="sign-in">
			<img src={icon} alt="" width="40" height="40" />
			<h1>Sign in to Ganglion</h1>
			<form className="card stack" onSubmit={submit} ref={form}>
				{problem !== undefined && (
					<div role="alert">
						<Banner variant="error" description={problem} />
					</div>
				)}
				<Input
					label="Token"
					description="A token of an account, or the operator's. It stays in this tab."
					type="password"
					name="token"
					autoComplete="off"
					required
					value={token}
					onChange={(event) => setToken(event.target.value)}
				/>
				<Button type="submit" variant="primary" loading={checking}>
					Sign in
				</Button>
			</form>
			<p className="subtle">
				The operator makes tokens on the page "Tokens", or with <code>npx ganglion token create</code>.
			</p>
		</main>
	);
}

const focusIn = (form: HTMLFormElement | null): void => form?.querySelector("input")?.focus();
