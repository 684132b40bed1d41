/** What an answer says beside its result. */
export const Notes = ({ notes }: { notes: readonly string[] }) =>
	notes.length > 0 && (
		<div className="card stack" role="status">
			{notes.map((note) => (
				<p key={note} className="plain">
					{note}
				</p>
			))}
		</div>
	);
