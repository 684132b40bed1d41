import { type ReactNode, useEffect } from "react";

interface Props {
	title: string;
	/** Controls beside the title. */
	actions?: ReactNode;
	children: ReactNode;
}

export function Page({ title, actions, children }: Props) {
	useEffect(() => {
		document.title = `${title} – Ganglion`;
	}, [title]);
	return (
		<div className="page">
			<div className="page-head">
				<h1>{title}</h1>
				{actions}
			</div>
			{children}
		</div>
	);
}

/** A titled part of a page. */
export function Section({ title, actions, children }: Props) {
	return (
		<section className="card stack" aria-label={title}>
			<div className="page-head">
				<h2>{title}</h2>
				{actions}
			</div>
			{children}
		</section>
	);
}
