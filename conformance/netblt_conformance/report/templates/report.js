// SPDX-License-Identifier: GPL-2.0-or-later
// The buttons of the HTML report: they choose which results are shown.
const rows=[...document.querySelectorAll('.result')],shown=document.getElementById('shown');
function show(test,label){let n=0;for(const row of rows){const on=test(row);row.hidden=!on;n+=on}
shown.textContent=n+' of '+rows.length+(label?', '+label:'')}
for(const tile of document.querySelectorAll('.tile'))tile.onclick=()=>{
for(const other of document.querySelectorAll('.tile'))other.setAttribute('aria-pressed',other===tile);
const v=tile.dataset.verdict;show(row=>!v||row.dataset.verdict===v,v.toUpperCase());
document.getElementById('results').scrollIntoView()};
for(const cell of document.querySelectorAll('button[data-requirement]'))cell.onclick=()=>{
const id=cell.dataset.requirement,role=cell.dataset.role;
show(row=>row.dataset.role===role&&row.dataset.requirements.split(' ').includes(id),id+', '+role);
document.getElementById('results').scrollIntoView()};
show(()=>true,'');
